import { createHmac, timingSafeEqual } from 'node:crypto'

const LIFE_S = 3_600

/** Makes and checks addresses of files: who has one may read that file for an hour, without a key. */
export interface UrlSigner {
  sign(file: { id: string; name: string }): string
  /** Whether the signature is ours and its time has not passed. */
  verify(file: { id: string; name: string }, query: { expires: string; signature: string }): boolean
}

/** A signer whose key is derived from the pepper, and so is the same in all processes. */
export function createUrlSigner({ pepper, publicOrigin }: { pepper: string; publicOrigin: string }): UrlSigner {
  const key = createHmac('sha256', pepper).update('relay media addresses').digest()
  const signatureOf = (path: string, expires: string) =>
    createHmac('sha256', key).update(`${path}\n${expires}`).digest('base64url')
  const pathOf = ({ id, name }: { id: string; name: string }) => `/media/${id}/${encodeURIComponent(name)}`
  const nowInSeconds = () => Math.floor(Date.now() / 1000)
  return {
    sign(file) {
      const path = pathOf(file)
      const expires = String(nowInSeconds() + LIFE_S)
      return `${publicOrigin}${path}?expires=${expires}&signature=${signatureOf(path, expires)}`
    },
    verify(file, { expires, signature }) {
      const [ours, theirs] = [signatureOf(pathOf(file), expires), signature].map((text) => Buffer.from(text))
      const same = ours?.length === theirs?.length && timingSafeEqual(ours as Buffer, theirs as Buffer)
      return same && Number(expires) > nowInSeconds()
    },
  }
}
