export { deliverPost } from './relay/deliver-post.js'
export { deliverWebhooks } from './webhooks/deliver-webhooks.js'
