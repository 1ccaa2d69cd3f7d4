import { generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto'

/** DER (ITU-T X.690), as much of it as a certificate needs: a tag, a length, what is inside. */
const der = (tag: number, ...inside: Buffer[]): Buffer => {
  const content = Buffer.concat(inside)
  const { length } = content
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}
const sequence = (...inside: Buffer[]) => der(0x30, ...inside)
const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'))
const octets = (...inside: Buffer[]) => der(0x04, ...inside)
const bits = (content: Buffer) => der(0x03, Buffer.from([0]), content)
const yes = der(0x01, Buffer.from([0xff]))

const ECDSA_WITH_SHA256 = sequence(oid('2a8648ce3d040302'))
const COMMON_NAME = oid('550403')
const BASIC_CONSTRAINTS = oid('551d13')
const ALTERNATIVE_NAME = oid('551d11')

const nameOf = (text: string) => sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from(text)))))
const time = (at: Date) => der(0x17, Buffer.from(`${at.toISOString().slice(2, 19).replaceAll(/[-T:]/g, '')}Z`)) // UTCTime, until 2049
const pem = (label: string, bytes: Buffer) =>
  `-----BEGIN ${label}-----\n${bytes.toString('base64').replaceAll(/.{64}(?=.)/g, '$&\n')}\n-----END ${label}-----\n`

interface Signer {
  name: string
  key: KeyObject
}

const DAY_MS = 24 * 3_600_000

/** An X.509 certificate (RFC 5280 section 4.1), good for this day and the next. */
function certify(subject: string, publicKey: KeyObject, { by, authority }: { by: Signer; authority: boolean }): string {
  const [from, to] = [-DAY_MS, DAY_MS].map((ms) => time(new Date(Date.now() + ms))) as [Buffer, Buffer]
  const extension = authority
    ? sequence(BASIC_CONSTRAINTS, yes, octets(sequence(yes)))
    : sequence(ALTERNATIVE_NAME, octets(sequence(der(0x82, Buffer.from(subject)))))
  const content = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))), // v3
    der(0x02, Buffer.from([1]), randomBytes(8)),
    ECDSA_WITH_SHA256,
    nameOf(by.name),
    sequence(from, to),
    nameOf(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(extension)),
  )
  return pem('CERTIFICATE', sequence(content, ECDSA_WITH_SHA256, bits(sign('sha256', content, by.key))))
}

/** An authority of a test's own and what it issues, as PEM. */
export function makeAuthority(name: string) {
  const own = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const by = { name, key: own.privateKey }
  return {
    certificate: certify(name, own.publicKey, { by, authority: true }),
    issue(host: string) {
      const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      return {
        certificate: certify(host, publicKey, { by, authority: false }),
        key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      }
    },
  }
}
