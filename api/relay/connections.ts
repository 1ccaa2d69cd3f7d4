import * as connecting from '../../src/relay/connections/connect-account.js'
import { saveConnection } from '../../src/relay/connections/repository.js'
import { Connection, CreateConnection } from '../../src/relay/connections/schema.js'
import type { Account } from '../../src/relay/platforms/platform.js'
import { route } from '../http/route.js'

export const connectAccount = route({
  method: 'post',
  path: '/v1/connections',
  summary: 'Connect an account of a platform that does not use OAuth',
  scope: 'connect',
  body: CreateConnection,
  responds: { status: 200, data: Connection },
  before: ({ context, caller, body }): Promise<Account> => {
    const { platforms, client, config } = context
    const connector = { platforms, client, callTimeoutMs: config.pace.callTimeoutMs }
    return connecting.connectAccount(connector, { organisationId: caller.organisationId, ...body })
  },
  handle: ({ tx, context, caller, body, before: account }) =>
    saveConnection(tx, caller.organisationId, {
      platform: body.platform,
      account,
      keys: context.config.keyEncryptionKeys,
    }),
})
