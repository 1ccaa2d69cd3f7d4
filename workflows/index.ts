export { deliverPost } from './relay/deliver-post.js'
