import { z } from 'zod'
import * as repository from '../../src/accounts/repository.js'
import { Key } from '../../src/accounts/schema.js'
import { idPattern } from '../../src/ids.js'
import { route } from '../http/route.js'

export const listKeys = route({
  method: 'get',
  path: '/v1/keys',
  summary: 'The organisation’s API keys, newest first',
  additive: true,
  scope: 'admin',
  responds: { status: 200, data: z.array(Key) },
  handle: ({ tx, caller }) => repository.listKeys(tx, caller.organisationId),
})

export const revokeKey = route({
  method: 'delete',
  path: '/v1/keys/{id}',
  summary: 'End an API key at once',
  audit: 'key.revoked',
  additive: true,
  scope: 'admin',
  params: { id: z.string().regex(idPattern('key')) },
  responds: { status: 200, data: Key },
  handle: ({ tx, caller, params }) => repository.revokeKey(tx, caller.organisationId, params.id),
})
