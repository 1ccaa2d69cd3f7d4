import { z } from 'zod'
import { idPattern } from '../../src/ids.js'
import * as cancelling from '../../src/relay/posts/cancel-post.js'
import { createPost } from '../../src/relay/posts/create-post.js'
import { cursorParameter, limitParameter, listParameter } from '../../src/db/page.js'
import * as actions from '../../src/relay/posts/actions.js'
import * as previewing from '../../src/relay/posts/preview-post.js'
import * as repository from '../../src/relay/posts/repository.js'
import {
  AcceptedPost,
  CancelledPost,
  CreatePost,
  Post,
  PostStatus,
  PreviewedPost,
  PreviewPost,
  PublishedPost,
  RetriedPost,
  ScheduledPost,
  SchedulePost,
} from '../../src/relay/posts/schema.js'
import { route } from '../http/route.js'

const params = { id: z.string().regex(idPattern('post')) }

export const acceptPost = route({
  method: 'post',
  path: '/v1/posts',
  summary: 'Accept a post and publish it to every target',
  scope: 'publish',
  audit: 'post.created',
  body: CreatePost,
  responds: { status: 202, data: AcceptedPost },
  crashPoint: 'post.committed',
  // Rows and the outbox lines for Temporal commit together; the relay loop does the rest.
  handle: ({ tx, context, caller, body }) => createPost(tx, { caller, platforms: context.gateway.platforms }, body),
})

export const previewPost = route({
  method: 'post',
  path: '/v1/posts/preview',
  summary: 'What each target would get of a post, and why it would not; writes nothing',
  scope: 'read',
  audit: null,
  body: PreviewPost,
  responds: { status: 200, data: PreviewedPost },
  handle: ({ tx, context, caller, body }) =>
    previewing.previewPost(tx, { organisationId: caller.organisationId, platforms: context.gateway.platforms }, body),
})

export const readPost = route({
  method: 'get',
  path: '/v1/posts/{id}',
  summary: 'A post and its deliveries',
  scope: 'read',
  params,
  responds: { status: 200, data: Post },
  handle: ({ tx, caller, params }) => repository.requirePost(tx, caller.organisationId, params.id),
})

export const listPosts = route({
  method: 'get',
  path: '/v1/posts',
  summary: 'Posts, newest first',
  scope: 'read',
  query: z.strictObject({
    status: listParameter(PostStatus),
    external_id: z.string().min(1).max(255).optional(),
    limit: limitParameter({ max: 100, usual: 25 }),
    cursor: cursorParameter('post'),
  }),
  responds: { status: 200, data: z.array(Post), pages: true },
  handle: ({ tx, caller, query }) => repository.listPosts(tx, caller.organisationId, query),
})

export const publishPost = route({
  method: 'post',
  path: '/v1/posts/{id}/publish',
  summary: 'Release a draft or a scheduled post now',
  scope: 'publish',
  audit: 'post.published',
  params,
  responds: { status: 200, data: PublishedPost },
  handle: ({ tx, caller, params }) => actions.publishPost(tx, caller, params.id),
})

export const schedulePost = route({
  method: 'post',
  path: '/v1/posts/{id}/schedule',
  summary: 'Set or move the time of a draft or scheduled post',
  scope: 'publish',
  audit: 'post.scheduled',
  params,
  body: SchedulePost,
  responds: { status: 200, data: ScheduledPost },
  handle: ({ tx, caller, params, body }) => actions.schedulePost(tx, caller, params.id, body),
})

export const retryPost = route({
  method: 'post',
  path: '/v1/posts/{id}/retry',
  summary: 'Send the failed deliveries of a post again',
  scope: 'publish',
  audit: 'post.retried',
  params,
  responds: { status: 200, data: RetriedPost },
  handle: ({ tx, caller, params }) => actions.retryPost(tx, caller, params.id),
})

export const cancelPost = route({
  method: 'delete',
  path: '/v1/posts/{id}',
  summary: 'Cancel what of a post is still pending',
  scope: 'publish',
  audit: 'post.cancelled',
  params,
  responds: { status: 200, data: CancelledPost },
  handle: ({ tx, caller, params }) => cancelling.cancelPost(tx, caller.organisationId, params.id),
})
