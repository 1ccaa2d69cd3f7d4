import { createKey, createOrganisation, findCaller } from '../../src/accounts/repository.js'
import { SCOPES } from '../../src/accounts/schema.js'
import { DEV_ONLY_PEPPER } from '../../src/config.js'
import { connectDatabase } from '../../src/db/client.js'

interface DevAccount {
  organisation_id: string
  relay_api_key: string
}

/** The organisation and key of a development database: those of the last start while they still work, otherwise new ones. */
export async function openDevAccount(databaseUrl: string, last: Partial<DevAccount>): Promise<DevAccount> {
  const pepper = process.env.KEY_PEPPER || DEV_ONLY_PEPPER
  const database = connectDatabase({ url: databaseUrl, name: 'dev', max: 1 })
  try {
    const caller = last.relay_api_key ? await findCaller(database, last.relay_api_key, { pepper }) : null
    if (caller && last.relay_api_key)
      return { organisation_id: caller.organisationId, relay_api_key: last.relay_api_key }
    const organisationId = await createOrganisation(database, { name: 'Development' })
    const { key } = await createKey(database, organisationId, { name: 'development', scopes: [...SCOPES], pepper })
    return { organisation_id: organisationId, relay_api_key: key }
  } finally {
    await database.end()
  }
}
