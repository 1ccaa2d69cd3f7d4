import * as connecting from '../../src/relay/connections/connect-account.js'
import { saveConnection } from '../../src/relay/connections/repository.js'
import { Connection, CreateConnection } from '../../src/relay/connections/schema.js'
import type { Account } from '../../src/relay/platforms/platform.js'
import * as verifying from '../../src/relay/connections/verify-connection.js'
import { idPattern } from '../../src/ids.js'
import { z } from 'zod'
import { route } from '../http/route.js'

export const connectAccount = route({
  method: 'post',
  path: '/v1/connections',
  summary: 'Connect an account of a platform that does not use OAuth',
  scope: 'connect',
  body: CreateConnection,
  responds: { status: 200, data: Connection },
  before: ({ context, caller, body }): Promise<Account> => {
    const { platforms, clients, config } = context
    const connector = { platforms, clients, callTimeoutMs: config.pace.callTimeoutMs }
    return connecting.connectAccount(connector, { organisationId: caller.organisationId, ...body })
  },
  handle: ({ tx, context, caller, body, before: account }) =>
    saveConnection(tx, caller.organisationId, {
      platform: body.platform,
      account,
      keys: context.config.keyEncryptionKeys,
    }),
})

export const verifyConnection = route({
  method: 'post',
  path: '/v1/connections/{id}/verify',
  summary: 'Ask the platform whether it still accepts the credentials, and refresh what is shown',
  scope: 'connect',
  params: { id: z.string().regex(idPattern('conn')) },
  responds: { status: 200, data: Connection },
  before: ({ context, caller, params }): Promise<verifying.Verified> => {
    const { database, platforms, clients, config } = context
    const gateway = {
      database,
      platforms,
      clients,
      keys: config.keyEncryptionKeys,
      callTimeoutMs: config.pace.callTimeoutMs,
    }
    return verifying.askAboutConnection(gateway, caller.organisationId, params.id)
  },
  handle: ({ tx, caller, params, before }) => verifying.recordVerified(tx, caller.organisationId, params.id, before),
})
