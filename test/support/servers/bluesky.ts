import { countGraphemes } from 'unicode-segmenter/grapheme'
import { startFakeServer } from './fake-server.js'

const refusal = (status: number, error: string, message: string) => ({ status, body: { error, message } })

/** As much of a PDS as publishing meets, with the answers that the real one gave (test/real runs against that one). */
export function startBluesky() {
  const records = new Map<string, string>()
  return startFakeServer(({ path, query, headers, body }, landed) => {
    const name = path.replace('/xrpc/', '')
    if (name === 'com.atproto.repo.getRecord') {
      const uri = records.get(query.get('rkey') ?? '')
      return uri
        ? { status: 200, body: { uri, cid: 'cid' } }
        : refusal(400, 'RecordNotFound', 'Could not locate record')
    }
    if (name === 'com.atproto.repo.uploadBlob')
      return {
        status: 200,
        body: { blob: { $type: 'blob', ref: { $link: 'bafy' }, mimeType: headers['content-type'], size: 1 } },
      }
    if (name !== 'com.atproto.repo.createRecord')
      return { status: 200, body: { did: 'did:plc:a', handle: 'a.test', accessJwt: 'a', refreshJwt: 'r' } }

    const { rkey, record } = JSON.parse(body) as {
      rkey: string
      record: { text: string; reply?: { parent: { uri: string } }; embed?: { images?: { alt: string }[] } }
    }
    if (records.has(rkey)) return refusal(500, 'InternalServerError', 'Internal Server Error')
    const graphemes = countGraphemes(record.text)
    if (graphemes > 300)
      return refusal(
        400,
        'InvalidRequest',
        `Invalid app.bsky.feed.post record: grapheme too big (maximum 300, got ${graphemes})`,
      )
    const uri = `at://did:plc:a/app.bsky.feed.post/${rkey}`
    records.set(rkey, uri)
    const media = record.embed?.images?.map(({ alt }) => alt) ?? []
    landed.push({ id: uri, text: record.text, replyTo: record.reply?.parent.uri ?? null, media })
    return { status: 200, body: { uri, cid: 'cid' } }
  })
}
