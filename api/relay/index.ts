import type { AnyRoute } from '../http/route.js'
import { connectAccount, verifyConnection } from './connections.js'
import { listAttempts, readDelivery } from './deliveries.js'
import { acceptPost, cancelPost, readPost } from './posts.js'

export const relayRoutes: readonly AnyRoute[] = [
  connectAccount,
  verifyConnection,
  acceptPost,
  readPost,
  cancelPost,
  readDelivery,
  listAttempts,
]
