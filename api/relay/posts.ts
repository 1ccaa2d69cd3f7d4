import { z } from 'zod'
import { notFound } from '../../src/errors.js'
import { idPattern } from '../../src/ids.js'
import * as cancelling from '../../src/relay/posts/cancel-post.js'
import { createPost } from '../../src/relay/posts/create-post.js'
import { findPost } from '../../src/relay/posts/repository.js'
import { CancelledPost, CreatePost, Post } from '../../src/relay/posts/schema.js'
import { route } from '../http/route.js'

const params = { id: z.string().regex(idPattern('post')) }

export const acceptPost = route({
  method: 'post',
  path: '/v1/posts',
  summary: 'Accept a post and publish it to every target',
  scope: 'publish',
  body: CreatePost,
  responds: { status: 202, data: Post },
  crashPoint: 'post.committed',
  // Rows and the outbox lines for Temporal commit together; the relay loop does the rest.
  handle: ({ tx, context, caller, body }) => createPost(tx, { caller, platforms: context.platforms }, body),
})

export const readPost = route({
  method: 'get',
  path: '/v1/posts/{id}',
  summary: 'A post and its deliveries',
  scope: 'read',
  params,
  responds: { status: 200, data: Post },
  async handle({ tx, caller, params }) {
    const post = await findPost(tx, caller.organisationId, params.id)
    if (!post) throw notFound()
    return post
  },
})

export const cancelPost = route({
  method: 'delete',
  path: '/v1/posts/{id}',
  summary: 'Cancel what of a post is still pending',
  scope: 'publish',
  params,
  responds: { status: 200, data: CancelledPost },
  handle: ({ tx, caller, params }) => cancelling.cancelPost(tx, caller.organisationId, params.id),
})
