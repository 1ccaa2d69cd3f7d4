import type { Config } from '../config.js'
import type { BlobStore } from './blob-store.js'
import { createDirectoryStore } from './directory-store.js'
import { createS3Store } from './s3-store.js'

/** The store of a process: a bucket where one is configured, a folder otherwise. */
export function openStore({ s3, dir }: Config['media']): BlobStore {
  return s3 ? createS3Store(s3) : createDirectoryStore(dir)
}

/** Where that is, in words. */
export function describePlace({ s3, dir }: Config['media']): string {
  return s3 ? `bucket ${s3.bucket} at ${s3.endpoint}` : `folder ${dir}`
}
