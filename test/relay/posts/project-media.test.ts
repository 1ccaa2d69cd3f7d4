import type { Asset, Assets } from '../../../src/relay/media/assets.js'
import { bluesky } from '../../../src/relay/platforms/bluesky.js'
import type { Platform } from '../../../src/relay/platforms/platform.js'
import { sandbox } from '../../../src/relay/platforms/sandbox.js'
import { project } from '../../../src/relay/posts/projection.js'

const id = (digit: number) => `med_${String(digit).repeat(32)}`
const asset = (digit: number, more: Partial<Asset> = {}): [string, Asset] => [
  id(digit),
  {
    id: id(digit),
    kind: 'image',
    contentType: 'image/png',
    bytes: 1_000,
    sha256: '00',
    width: 1,
    height: 1,
    alt: null,
    blob: 'b',
    ...more,
  },
]
const projected = (platform: Platform, refs: object[], assets: Assets) => {
  const content = { text: 'x', media: refs as { id: string }[] }
  const { pieces, adaptations, obstacles, mediaNotTaken, unverified } = project(platform, content, assets)
  return {
    media: pieces[0]!.media.map(({ id, url, alt, convert }) => [id ?? url, alt, convert]),
    codes: adaptations.map(({ code, path }) => `${code} ${path}`),
    adaptations,
    obstacles,
    mediaNotTaken,
    unverified,
  }
}

test('the alt of a reference wins over that of its asset', () => {
  const assets = new Map([asset(1, { alt: 'its own' }), asset(2)])
  const { media, codes } = projected(bluesky, [{ id: id(1) }, { id: id(1), alt: 'another' }, { id: id(2) }], assets)
  expect(media).toEqual([
    [id(1), 'its own', false],
    [id(1), 'another', false],
    [id(2), null, false],
  ])
  expect(codes).toEqual([])
})

test('what a platform has no place for is dropped and named: another kind, and those beyond its number', () => {
  const assets = new Map([
    asset(9, { kind: 'video', contentType: 'video/mp4' }),
    ...[1, 2, 3, 4, 5].map((at) => asset(at)),
  ])
  const refs = [1, 2, 9, 3, 4, 5].map((digit) => ({ id: id(digit) }))
  const { media, mediaNotTaken, adaptations } = projected(bluesky, refs, assets)
  expect(media.map(([ref]) => ref)).toEqual([id(1), id(2), id(3), id(4)])
  expect(mediaNotTaken).toEqual([
    { index: 2, id: id(9), url: null, code: 'media_dropped', message: 'Bluesky takes no video' },
    { index: 5, id: id(5), url: null, code: 'media_dropped', message: 'Bluesky takes 4 media at the most; this has 5' },
  ])
  expect(adaptations).toMatchObject([
    { code: 'media_dropped', path: 'content.media.2', limit: null },
    { code: 'media_dropped', path: 'content.media.5', limit: 4, received: 5, unit: 'media' },
  ])
})

test('an image that is too large or of another type is made to fit; other kinds are dropped', () => {
  const assets = new Map([asset(1, { bytes: 1_000_001 }), asset(2, { contentType: 'image/gif' })])
  const { media, adaptations } = projected(bluesky, [{ id: id(1) }, { id: id(2) }], assets)
  expect(media.map(([, , convert]) => convert)).toEqual([true, true])
  expect(adaptations).toMatchObject([
    { code: 'media_converted', path: 'content.media.0', limit: 1_000_000, received: 1_000_001, unit: 'bytes' },
    { code: 'media_converted', path: 'content.media.1', limit: null },
  ])
  const small: Platform = {
    ...bluesky,
    accepts: { ...bluesky.accepts, media: { max: 4, kinds: ['video'], maxBytes: 10 } },
  }
  const video = new Map([asset(3, { kind: 'video', contentType: 'video/mp4' })])
  expect(projected(small, [{ id: id(3) }], video)).toMatchObject({
    media: [],
    adaptations: [{ code: 'media_dropped', limit: 10, received: 1_000 }],
  })
})

test('a description that is too long is cut where a platform has a limit', () => {
  const short: Platform = {
    ...bluesky,
    accepts: { ...bluesky.accepts, media: { max: 4, kinds: ['image'], maxBytes: 10_000, altMax: 10 } },
  }
  expect(projected(short, [{ id: id(1), alt: 'a dog and a cat' }], new Map([asset(1)]))).toMatchObject({
    media: [[id(1), 'a dog and…', false]],
    adaptations: [{ code: 'text_truncated', path: 'content.media.0.alt', limit: 10, received: 15 }],
  })
})

test('of an address that was not fetched the type is guessed by its ending, an image where there is none', () => {
  const refs = ['https://x.test/a.PNG?v=1', 'https://x.test/clip.mp4', 'https://x.test/of/the/day'].map((url) => ({
    url,
  }))
  const { media, unverified, mediaNotTaken } = projected(bluesky, refs, new Map())
  expect(media.map(([ref]) => ref)).toEqual([refs[0]!.url, refs[2]!.url])
  expect(unverified).toMatchObject([
    { index: 0, url: refs[0]!.url, contentType: 'image/png' },
    { index: 2, url: refs[2]!.url, contentType: 'image/jpeg' },
  ])
  expect(mediaNotTaken).toMatchObject([{ index: 1, url: refs[1]!.url }])
})

test('what cannot be had is an obstacle, and nothing is sent without it', () => {
  const url = 'https://x.test/a.png'
  const { obstacles } = projected(bluesky, [{ url }], new Map([[url, { problem: 'answered 404' }]]))
  expect(obstacles).toMatchObject([
    { code: 'media_rejected', path: 'content.media.0', message: `The media ${url} answered 404` },
  ])
})

test('media alone are a post; of those that nobody takes nothing is left', () => {
  const assets = new Map([asset(1), asset(9, { kind: 'audio', contentType: 'audio/wav' })])
  expect(project(bluesky, { media: [{ id: id(1) }] }, assets).obstacles).toEqual([])
  expect(project(bluesky, { media: [{ id: id(9) }] }, assets).obstacles).toMatchObject([
    { code: 'unsupported_capability' },
  ])
})

test('the media of parts go with their parts, or with the post where there are none', () => {
  const assets = new Map([asset(1), asset(2)])
  const content = { text: 'x', media: [{ id: id(1) }], parts: [{ media: [{ id: id(2) }] }] }
  const mediaOf = (platform: Platform) =>
    project(platform, content, assets).pieces.map(({ media }) => media.map(({ asset }) => asset?.id))
  expect(mediaOf(sandbox('http://x'))).toEqual([[id(1)], [id(2)]])
  const { threads: _threads, ...flat } = bluesky.accepts
  expect(mediaOf({ ...bluesky, accepts: flat })).toEqual([[id(1), id(2)]])
})
