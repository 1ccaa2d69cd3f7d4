import { Readable } from 'node:stream'
import { request } from 'undici'
import { residentMb } from './memory.js'

const CHUNK = Buffer.alloc(1_000_000)
/** The beginning of an MP4 (ISO 14496-12, `ftyp`). */
const HEAD = Buffer.from('00000018667479706d703432000000006d70343269736f6d', 'hex')

/** By how many MB the api grows at the most while a file of so many MB is uploaded to it. */
export async function measureUpload(
  { origin, key, pid }: { origin: string; key: string; pid: number },
  megabytes: number,
): Promise<number> {
  const boundary = 'bench'
  async function* form() {
    yield Buffer.from(
      `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.mp4"\r\nContent-Type: video/mp4\r\n\r\n`,
    )
    yield HEAD
    for (let sent = 0; sent < megabytes; sent++) yield CHUNK
    yield Buffer.from(`\r\n--${boundary}--\r\n`)
  }
  const before = await residentMb([pid])
  let most = before
  const watching = setInterval(() => void residentMb([pid]).then((mb) => (most = Math.max(most, mb))), 100)
  try {
    const answer = await request(`${origin}/v1/media`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': `multipart/form-data; boundary=${boundary}` },
      body: Readable.from(form()),
      headersTimeout: 0,
    })
    const text = await answer.body.text()
    if (answer.statusCode !== 200) throw new Error(`The upload answered ${answer.statusCode}: ${text}`)
  } finally {
    clearInterval(watching)
  }
  return Math.max(0, most - before)
}
