import { listPlans, type PlanCode } from '../accounts/plans.js'
import { createKey, createOrganisation, findOrganisations, revokeKey } from '../accounts/repository.js'
import { SCOPES, type Scope } from '../accounts/schema.js'
import { writeAudit } from '../audit/repository.js'
import { AppError } from '../errors.js'
import { readArguments, refuseArguments } from './arguments.js'
import { operatorDeed } from './audit.js'
import { Refusal, UsageError, type Command } from './command.js'

const PLANS = listPlans().map(([code]) => code)

export const listOrganisations: Command = {
  words: 'org list',
  takes: '',
  does: 'Every organisation with its plan and its keys that work',
  async run({ database, print }, args) {
    refuseArguments(args, 'org list')
    for (const { id, name, plan, keys } of await findOrganisations(database))
      print(`${id}  ${plan}  ${keys} keys  ${name}`)
  },
}

export const makeOrganisation: Command = {
  words: 'org create',
  takes: 'NAME [--plan CODE]',
  does: `Make an organisation; plans: ${PLANS.join(', ')} (scale where none is named)`,
  async run({ database, print }, args) {
    const { words, text } = readArguments(args, { texts: ['plan'] })
    const [name, ...more] = words
    const plan = text('plan') ?? 'scale'
    if (!name?.trim() || more.length > 0) throw new UsageError('org create takes one name, in quotation marks.')
    if (!isPlan(plan)) throw new UsageError(`There is no plan "${plan}"; there are ${PLANS.join(', ')}.`)
    const id = await database.begin(async (tx) => {
      const id = await createOrganisation(tx, { name: name.trim(), plan })
      await writeAudit(tx, operatorDeed('organisation.created', id))
      return id
    })
    print(id)
  },
}

export const makeKey: Command = {
  words: 'key create',
  takes: 'ORGANISATION --name NAME [--scopes LIST]',
  does: `Make an API key and print it, this once; scopes: ${SCOPES.join(',')} (all where none are named)`,
  async run({ config, database, print }, args) {
    const { words, text } = readArguments(args, { texts: ['name', 'scopes'] })
    const [organisationId, ...more] = words
    const name = text('name')
    if (!organisationId || !name || more.length > 0)
      throw new UsageError('key create takes an organisation and --name "…".')
    const scopes = readScopes(text('scopes'))
    const { key } = await database.begin(async (tx) => {
      if (!(await findOrganisations(tx)).some(({ id }) => id === organisationId))
        throw new Refusal(`There is no organisation ${organisationId}. Nothing was made.`)
      const made = await createKey(tx, organisationId, { name, scopes, pepper: config.pepper })
      await writeAudit(tx, { ...operatorDeed('key.created', made.id), organisationId })
      return made
    })
    print(key)
  },
}

export const endKey: Command = {
  words: 'key revoke',
  takes: 'ORGANISATION KEY_ID',
  does: 'End an API key at once, for good',
  async run({ database, print }, args) {
    const [organisationId, keyId, ...more] = readArguments(args).words
    if (!organisationId || !keyId || more.length > 0)
      throw new UsageError('key revoke takes an organisation and the id of a key.')
    const key = await database
      .begin(async (tx) => {
        const key = await revokeKey(tx, organisationId, keyId)
        await writeAudit(tx, { ...operatorDeed('key.revoked', keyId), organisationId })
        return key
      })
      .catch((error: unknown) => {
        if (!(error instanceof AppError)) throw error
        throw new Refusal(`There is no key ${keyId} of ${organisationId}. Nothing was changed.`, { cause: error })
      })
    print(`${key.id} (…${key.last4}, ${key.name}) is revoked since ${key.revoked_at}`)
  },
}

const isPlan = (code: string): code is PlanCode => (PLANS as string[]).includes(code)
const isScope = (scope: string): scope is Scope => (SCOPES as readonly string[]).includes(scope)

function readScopes(text: string | undefined): Scope[] {
  if (text === undefined) return [...SCOPES]
  const named = text.split(',').map((scope) => scope.trim())
  if (!named.every(isScope)) throw new UsageError(`--scopes takes some of ${SCOPES.join(',')}.`)
  return named
}
