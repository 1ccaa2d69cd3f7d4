import { z } from 'zod'
import { notFound } from '../../src/errors.js'
import { idPattern } from '../../src/ids.js'
import * as connecting from '../../src/relay/connections/connect-account.js'
import * as deleting from '../../src/relay/connections/delete-connection.js'
import * as repository from '../../src/relay/connections/repository.js'
import {
  Connection,
  ConnectionStatus,
  CreateConnection,
  DeletedConnection,
  UpdateConnection,
} from '../../src/relay/connections/schema.js'
import type { Account } from '../../src/relay/platforms/platform.js'
import * as verifying from '../../src/relay/connections/verify-connection.js'
import { route } from '../http/route.js'

export const connectAccount = route({
  method: 'post',
  path: '/v1/connections',
  summary: 'Connect an account of a platform that does not use OAuth',
  scope: 'connect',
  audit: 'connection.created',
  body: CreateConnection,
  responds: { status: 200, data: Connection },
  before: ({ context, caller, body }): Promise<Account> =>
    connecting.connectAccount(context.gateway, { organisationId: caller.organisationId, ...body }),
  handle: ({ tx, context, caller, body, before: account }) =>
    connecting.keepAccount(tx, caller, {
      platform: body.platform,
      account,
      metadata: body.metadata,
      keys: context.config.keyEncryptionKeys,
    }),
})

const params = { id: z.string().regex(idPattern('conn')) }

export const listConnections = route({
  method: 'get',
  path: '/v1/connections',
  summary: 'Connected accounts, newest first',
  scope: 'read',
  query: z.strictObject({ platform: z.string().optional(), status: ConnectionStatus.optional() }),
  responds: { status: 200, data: z.array(Connection) },
  handle: ({ tx, caller, query }) => repository.listConnections(tx, caller.organisationId, query),
})

export const readConnection = route({
  method: 'get',
  path: '/v1/connections/{id}',
  summary: 'One connection',
  scope: 'read',
  params,
  responds: { status: 200, data: Connection },
  async handle({ tx, caller, params }) {
    const connection = await repository.findConnection(tx, caller.organisationId, params.id)
    if (!connection) throw notFound()
    return connection
  },
})

export const updateConnection = route({
  method: 'patch',
  path: '/v1/connections/{id}',
  summary: 'Merge metadata, switch a connection off or on',
  scope: 'connect',
  audit: 'connection.updated',
  params,
  body: UpdateConnection,
  responds: { status: 200, data: Connection },
  async handle({ tx, caller, params, body }) {
    const connection = await repository.updateConnection(tx, caller.organisationId, params.id, body)
    if (!connection) throw notFound()
    return connection
  },
})

export const deleteConnection = route({
  method: 'delete',
  path: '/v1/connections/{id}',
  summary: 'Erase the credentials and cancel what is pending for the account',
  scope: 'connect',
  audit: 'connection.deleted',
  params,
  responds: { status: 200, data: DeletedConnection },
  before: ({ context, caller, params }): Promise<boolean> =>
    deleting.signOut(context.gateway, caller.organisationId, params.id),
  handle: ({ tx, caller, params }) => deleting.deleteConnection(tx, caller.organisationId, params.id),
})

export const verifyConnection = route({
  method: 'post',
  path: '/v1/connections/{id}/verify',
  summary: 'Ask the platform whether it still accepts the credentials, and refresh what is shown',
  scope: 'connect',
  audit: 'connection.verified',
  params,
  responds: { status: 200, data: Connection },
  before: ({ context, caller, params }): Promise<verifying.Verified> =>
    verifying.askAboutConnection(context.gateway, caller.organisationId, params.id),
  handle: ({ tx, caller, params, before }) => verifying.recordVerified(tx, caller.organisationId, params.id, before),
})
