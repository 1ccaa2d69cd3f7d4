import type { AnyRoute } from '../http/route.js'
import * as audit from './audit.js'
import * as connections from './connections.js'
import * as deliveries from './deliveries.js'
import * as keys from './keys.js'
import * as plans from './plans.js'
import * as media from './media.js'
import * as platforms from './platforms.js'
import * as posts from './posts.js'
import * as webhooks from './webhooks.js'

export const relayRoutes: readonly AnyRoute[] = [
  plans.readPlans,
  plans.readBilling,
  plans.readUsageOfMonth,
  keys.listKeys,
  keys.revokeKey,
  platforms.listPlatforms,
  platforms.readPlatform,
  connections.connectAccount,
  connections.listConnections,
  connections.readConnection,
  connections.updateConnection,
  connections.deleteConnection,
  connections.verifyConnection,
  posts.acceptPost,
  posts.previewPost,
  posts.listPosts,
  posts.readPost,
  posts.cancelPost,
  posts.publishPost,
  posts.schedulePost,
  posts.retryPost,
  deliveries.listDeliveries,
  deliveries.readDelivery,
  deliveries.retryDelivery,
  deliveries.listAttempts,
  webhooks.listWebhooks,
  webhooks.registerWebhook,
  webhooks.updateWebhook,
  webhooks.deleteWebhook,
  webhooks.rotateWebhook,
  webhooks.testWebhook,
  webhooks.listWebhookDeliveries,
  webhooks.replayWebhookDelivery,
  webhooks.recoverWebhook,
  media.uploadMedia,
  media.listMedia,
  media.readMedia,
  media.deleteMedia,
  audit.listAudit,
]
