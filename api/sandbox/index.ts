import { setTimeout as sleep } from 'node:timers/promises'
import express, { type Request, type Response, type Router } from 'express'
import { z } from 'zod'
import { AppError, ERRORS, notFound } from '../../src/errors.js'
import { readDirective } from '../../src/sandbox/directive.js'
import { receivePost, REQUESTS_PER_MINUTE } from '../../src/sandbox/receive-post.js'
import {
  findAccepted,
  findAccount,
  openAccount,
  readTimeline,
  tradeToken,
  type SignedIn,
} from '../../src/sandbox/repository.js'
import { parseInput } from '../../src/validation.js'
import type { ApiContext } from '../context.js'
import { renderTimeline } from './timeline-page.js'

const OpenAccount = z.strictObject({ owner: z.string().min(1), name: z.string().min(1).max(100) })
const Publish = z.strictObject({
  text: z.string(),
  title: z.string().nullable().default(null),
  link: z.string().nullable().default(null),
  tags: z.array(z.string()).default([]),
  media: z
    .array(
      z.strictObject({
        id: z.string().nullable(),
        sha256: z.string().nullable(),
        kind: z.string(),
        alt: z.string().nullable(),
      }),
    )
    .default([]),
  reply_to: z.string().nullable().default(null),
  client_key: z.string().min(1).max(100),
})
const RETRY_AFTER_S = 1

/** The sandbox platform: its own small API, told apart from ours by its address, and the page where its posts can be seen. */
export function createSandbox({ sandboxDatabase: database, config }: ApiContext): Router {
  const router = express.Router()
  const json = express.json({ limit: '1mb' })
  const urlOf = (timeline: string, postId: string) =>
    new URL(`/sandbox/timelines/${timeline}#${postId}`, config.sandboxUrl).href

  router.post('/api/accounts', json, async (request, response) => {
    const { account, token } = await openAccount(database, parseInput(OpenAccount, request.body))
    response.json({ id: account.id, name: account.name, token, timeline_url: urlOf(account.timeline, '') })
  })

  router.get('/api/account', async (request, response) => {
    const { name, expired } = await signIn(request)
    if (expired) throw new AppError('auth_expired', 'This token has expired.')
    response.json({ name })
  })

  router.post('/api/token', async (request, response) => {
    const token = await tradeToken(database, bearerOf(request))
    if (!token) throw new AppError('auth_revoked', 'This token is unknown.')
    response.json({ token })
  })

  router.post('/api/posts', json, async (request, response) => {
    const account = await signIn(request)
    const { client_key: clientKey, reply_to: replyTo, ...said } = parseInput(Publish, request.body)
    const reply = await receivePost(database, account, { clientKey, replyTo, ...said })
    response.set({
      'x-ratelimit-limit': String(REQUESTS_PER_MINUTE),
      'x-ratelimit-remaining': String(reply.remaining),
      'x-ratelimit-reset': String(Math.ceil(Date.now() / 1000) + reply.resetS),
    })
    switch (reply.kind) {
      case 'refused':
        return void refuse(response, reply)
      case 'dropped':
        return void request.socket.destroy()
      case 'accepted':
        await sleep(reply.afterMs)
        return void response.json({ id: reply.postId, url: urlOf(account.timeline, reply.postId) })
    }
  })

  router.get('/api/posts', async (request, response) => {
    const account = await signIn(request)
    const clientKey = new URL(request.originalUrl, 'http://host').searchParams.get('client_key') ?? ''
    const posts = await findAccepted(database, account.id, clientKey)
    const blind = posts.some(({ text }) => readDirective(text).drop === 'blind')
    response.json({
      posts: blind ? null : posts.map(({ post_id }) => ({ id: post_id, url: urlOf(account.timeline, post_id) })),
    })
  })

  router.get('/timelines/:timeline', async (request, response) => {
    const found = await readTimeline(database, request.params.timeline)
    if (!found) throw notFound()
    response.set({
      'x-robots-tag': 'noindex',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
    })
    response.type('html').send(renderTimeline(found))
  })

  async function signIn(request: Request): Promise<SignedIn> {
    const account = await findAccount(database, bearerOf(request))
    // A token that was traded meanwhile: whoever sent it reads the new one and tries again.
    if (!account) throw new AppError('auth_expired', 'This token is not valid any more.')
    return account
  }
  return router
}

function bearerOf(request: Request): string {
  return /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1] ?? ''
}

function refuse(response: Response, { status, code }: { status: number; code: keyof typeof ERRORS }): void {
  if (ERRORS[code].retry === 'backoff' || ERRORS[code].retry === 'defer')
    response.set('retry-after', String(RETRY_AFTER_S))
  response.status(status).json({ error: { code, message: `The post asked to be refused with ${code}.` } })
}
