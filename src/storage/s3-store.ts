import { Readable } from 'node:stream'
import {
  BucketAlreadyOwnedByYou,
  CreateBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  NoSuchKey,
  NotFound,
  S3Client,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { measure, requireKey, type BlobStore, type ByteRange } from './blob-store.js'

export interface S3Options {
  endpoint: string
  bucket: string
  region: string
  accessKeyId: string
  secretAccessKey: string
}

/** At most two parts of this size are in memory per upload. */
const PART = { partSize: 8 * 1024 * 1024, queueSize: 2 }

/** Keeps files in a bucket of any S3 server. An upload that fails is aborted, so that no parts of it stay. */
export function createS3Store({ bucket, accessKeyId, secretAccessKey, ...where }: S3Options): BlobStore {
  const client = new S3Client({ ...where, credentials: { accessKeyId, secretAccessKey }, forcePathStyle: true })
  const at = (key: string) => ({ Bucket: bucket, Key: requireKey(key) })
  return {
    async put(key, content) {
      const passing = measure(content)
      const Body = Readable.from(passing.content, { objectMode: false })
      await new Upload({ client, ...PART, params: { ...at(key), Body } }).done()
      return passing.measured()
    },
    async get(key, range) {
      const object = await orNone(client.send(new GetObjectCommand({ ...at(key), ...(range && inHeader(range)) })))
      return (object?.Body as Readable | undefined) ?? null
    },
    async size(key) {
      const head = await orNone(client.send(new HeadObjectCommand(at(key))))
      return head?.ContentLength ?? null
    },
    async delete(key) {
      await client.send(new DeleteObjectCommand(at(key)))
    },
    async ping(withinMs) {
      await client.send(new HeadBucketCommand({ Bucket: bucket }), { abortSignal: AbortSignal.timeout(withinMs) })
    },
    async create() {
      if (await orNone(client.send(new HeadBucketCommand({ Bucket: bucket })))) return false
      try {
        await client.send(new CreateBucketCommand({ Bucket: bucket }))
        return true
      } catch (error) {
        if (error instanceof BucketAlreadyOwnedByYou) return false // made meanwhile
        throw error
      }
    },
  }
}

const inHeader = ({ start, end }: ByteRange) => ({ Range: `bytes=${start}-${end}` })

async function orNone<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof NoSuchKey || error instanceof NotFound) return null
    throw error
  }
}
