import { randomBytes } from 'node:crypto'
import sharp from 'sharp'

/** An image that no other is equal to. */
export async function anImage({
  format = 'png',
  width = 40,
  height = 30,
  noise = false,
}: {
  format?: 'png' | 'jpeg' | 'webp' | 'gif'
  width?: number
  height?: number
  noise?: boolean
} = {}): Promise<Buffer> {
  const pixels = randomBytes(width * height * 3)
  if (!noise) pixels.fill(pixels.subarray(0, 3))
  return sharp(pixels, { raw: { width, height, channels: 3 } })
    .toFormat(format)
    .toBuffer()
}

/** The beginning of an MP4 (ISO 14496-12, `ftyp`), and noise behind it. */
export function aVideo(bytes = 5_000): Buffer {
  const head = Buffer.from('00000018667479706d703432000000006d70343269736f6d', 'hex')
  return Buffer.concat([head, randomBytes(Math.max(0, bytes - head.length))])
}

const u32 = (value: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** A PNG of a few bytes whose header claims 50,000 × 50,000 pixels. */
export async function anImageBomb(): Promise<Buffer> {
  const honest = await anImage()
  const header = Buffer.concat([Buffer.from('IHDR'), u32(50_000), u32(50_000), honest.subarray(24, 29)])
  return Buffer.concat([honest.subarray(0, 12), header, u32(crc32(header)), honest.subarray(33)])
}

function crc32(bytes: Buffer): number {
  let crc = ~0
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  }
  return ~crc >>> 0
}
