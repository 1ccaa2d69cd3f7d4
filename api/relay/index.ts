import type { AnyRoute } from '../http/route.js'
import { connectAccount } from './connections.js'
import { listAttempts, readDelivery } from './deliveries.js'
import { acceptPost, cancelPost, readPost } from './posts.js'

export const relayRoutes: readonly AnyRoute[] = [
  connectAccount,
  acceptPost,
  readPost,
  cancelPost,
  readDelivery,
  listAttempts,
]
