import { setTimeout as sleep } from 'node:timers/promises'

/** What the demo reads of a delivery. */
export interface Delivery {
  id: string
  handle: string
  status: string
  due_at: string
  remote_url: string | null
  error_code: string | null
  error: { message: string; next_step: string } | null
  settled_at: string | null
}

export interface Post {
  id: string
  status: string
  deliveries: Delivery[]
}

export interface Attempt {
  number: number
  state: string
  started_at: string
  sent_at: string | null
  error_code: string | null
  look_up: { result: string } | null
}

/** A caller of the relay's API, as any integrator would write one. */
export class RelayClient {
  constructor(
    private readonly base: string,
    private readonly key: string,
  ) {}

  async call<T>(method: string, path: string, body?: unknown): Promise<{ status: number; data: T }> {
    const response = await fetch(new URL(path, this.base), {
      method,
      headers: {
        authorization: `Bearer ${this.key}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const answer = (await response.json()) as { data: T; error?: { message: string } }
    if (answer.error) throw new Error(`${method} ${path} answered ${response.status}: ${answer.error.message}`)
    return { status: response.status, data: answer.data }
  }

  /** Uploads a file; answers the asset. */
  async upload(bytes: Uint8Array, name: string): Promise<{ id: string; kind: string; width: number; height: number }> {
    const form = new FormData()
    form.set('file', new Blob([new Uint8Array(bytes)]), name)
    const headers = { authorization: `Bearer ${this.key}` }
    const response = await fetch(new URL('/v1/media', this.base), { method: 'POST', headers, body: form })
    const answer = (await response.json()) as { data: { id: string; kind: string; width: number; height: number } }
    if (!response.ok) throw new Error(`POST /v1/media answered ${response.status}: ${JSON.stringify(answer)}`)
    return answer.data
  }

  /** The post once every delivery of it is final; throws after `timeoutMs`. */
  async untilSettled(postId: string, timeoutMs = 60_000): Promise<Post> {
    const deadline = Date.now() + timeoutMs
    for (;;) {
      const { data: post } = await this.call<Post>('GET', `/v1/posts/${postId}`)
      if (post.deliveries.every(({ settled_at }) => settled_at)) return post
      if (Date.now() > deadline) throw new Error(`Post ${postId} is still ${post.status} after ${timeoutMs / 1000} s`)
      await sleep(200)
    }
  }
}
