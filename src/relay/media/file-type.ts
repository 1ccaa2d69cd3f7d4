import { fileTypeFromBuffer } from 'file-type'

/** What a file is by its content. */
export interface FileType {
  kind: 'image' | 'video' | 'audio'
  contentType: string
  extension: string
}

/** How much of a file tells its type. */
export const HEAD_BYTES = 4_100

const type = (kind: FileType['kind'], contentType: string, extension: string): FileType => ({
  kind,
  contentType,
  extension,
})

/** What may be uploaded, by the name its content is known under. Nothing here can carry a script: no SVG, no HTML. */
const ALLOWED: Record<string, FileType> = {
  jpg: type('image', 'image/jpeg', 'jpg'),
  png: type('image', 'image/png', 'png'),
  apng: type('image', 'image/png', 'png'),
  webp: type('image', 'image/webp', 'webp'),
  gif: type('image', 'image/gif', 'gif'),
  mp4: type('video', 'video/mp4', 'mp4'),
  mov: type('video', 'video/quicktime', 'mov'),
  webm: type('video', 'video/webm', 'webm'),
  mp3: type('audio', 'audio/mpeg', 'mp3'),
  m4a: type('audio', 'audio/mp4', 'm4a'),
  wav: type('audio', 'audio/wav', 'wav'),
}

/** What a file is by its first 4,100 bytes, whatever anybody calls it; null for what is not taken. */
export async function sniffType(head: Uint8Array): Promise<FileType | null> {
  const found = await fileTypeFromBuffer(head)
  return (found && ALLOWED[found.ext]) ?? null
}

/** What a file at this address is likely to be, by its ending alone; null where that tells nothing. */
export function assumeType(url: string): FileType | null {
  const ending = /\.(\w+)$/.exec(new URL(url).pathname)?.[1]?.toLowerCase() ?? ''
  return ALLOWED[ending === 'jpeg' ? 'jpg' : ending] ?? null
}

/** The usual ending of a file of this type. */
export function extensionOf(contentType: string): string {
  return Object.values(ALLOWED).find((allowed) => allowed.contentType === contentType)?.extension ?? 'bin'
}
