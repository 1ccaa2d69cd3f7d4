import { Pool } from 'undici'

interface Load {
  origin: string
  path: string
  headers: Record<string, string>
  body: () => string
  count: number
  atOnce: number
}

/** Sends `count` POSTs over `atOnce` connections and answers how many a second were answered 202. Throws for any other answer. */
export async function postsPerSecond({ origin, path, headers, body, count, atOnce }: Load): Promise<number> {
  const pool = new Pool(origin, { connections: atOnce })
  let left = count
  const caller = async () => {
    while (left-- > 0) {
      const options = { path, method: 'POST' as const, headers: { 'content-type': 'application/json', ...headers } }
      const answer = await pool.request({ ...options, body: body() })
      const text = await answer.body.text()
      if (answer.statusCode !== 202) throw new Error(`POST ${path} answered ${answer.statusCode}: ${text}`)
    }
  }
  const begun = performance.now()
  await Promise.all(Array.from({ length: atOnce }, caller))
  const seconds = (performance.now() - begun) / 1000
  await pool.close()
  return count / seconds
}
