import sharp from 'sharp'
import { adaptImage } from '../../../src/relay/media/adapt-image.js'
import { anImage } from '../../support/files.js'

const limits = { maxBytes: 200_000, types: ['image/jpeg', 'image/png', 'image/webp'] }

test('an image that fits stays as it is, byte for byte', async () => {
  const bytes = await anImage({ format: 'png' })
  expect(await adaptImage(bytes, limits)).toEqual({ bytes, contentType: 'image/png', width: 40, height: 30 })
})

test('where a photograph was taken is taken out, and it stands upright', async () => {
  const bytes = await sharp(await anImage({ format: 'jpeg' }))
    .withExif({ IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '52/1 31/1 0/1' } })
    .withMetadata({ orientation: 6 })
    .toBuffer()
  expect((await sharp(bytes).metadata()).exif).toBeDefined()
  const image = (await adaptImage(bytes, limits))!
  const { exif, orientation, ...metadata } = await sharp(image.bytes).metadata()
  expect([exif, orientation ?? 1]).toEqual([undefined, 1])
  expect(metadata).toMatchObject({ format: 'jpeg', width: 30, height: 40 })
  expect(image).toMatchObject({ contentType: 'image/jpeg', width: 30, height: 40 })
})

test('one that is too large becomes smaller until it fits, at the same proportions', async () => {
  const bytes = await anImage({ format: 'png', width: 1_200, height: 900, noise: true })
  expect(bytes.length).toBeGreaterThan(3_000_000)
  const image = (await adaptImage(bytes, limits))!
  expect(image.bytes.byteLength).toBeLessThanOrEqual(200_000)
  expect(image.width / image.height).toBeCloseTo(4 / 3, 1)
  expect((await sharp(image.bytes).metadata()).format).toBe('jpeg')
})

test('one of another type becomes one that is taken, what is transparent stays so where it can', async () => {
  const bytes = await sharp({
    create: { width: 10, height: 10, channels: 4, background: { r: 1, g: 2, b: 3, alpha: 0.5 } },
  })
    .gif()
    .toBuffer()
  expect(await adaptImage(bytes, limits)).toMatchObject({ contentType: 'image/webp' })
  expect(await adaptImage(bytes, { maxBytes: 1_000, types: ['image/jpeg'] })).toMatchObject({
    contentType: 'image/jpeg',
  })
})

test('one that no step makes fit is given up', async () => {
  expect(await adaptImage(await anImage({ width: 900, height: 900, noise: true }), { maxBytes: 100 })).toBeNull()
})
