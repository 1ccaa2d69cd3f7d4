const HIDDEN = '[redacted]'

/** Names under which nothing is shown, whatever it is and however deep; compared without case, `-` and `_`. */
const SECRET_NAMES = new Set([
  ...['authorization', 'proxyauthorization', 'cookie', 'setcookie', 'headers', 'credentials', 'credential', 'sealed'],
  ...[
    'key',
    'apikey',
    'xapikey',
    'secretaccesskey',
    'keys',
    'keyencryptionkeys',
    'privatekey',
    'pepper',
    'secret',
    'clientsecret',
  ],
  ...['password', 'apppassword', 'passphrase', 'token', 'accesstoken', 'refreshtoken', 'idtoken', 'accessjwt'],
  ...['refreshjwt', 'databaseurl', 'body', 'query', 'parameters', 'args'],
])

/** What a secret looks like wherever it stands: our keys, webhook secrets, tokens of HTTP authentication, JWTs, a password inside an address, a
 *  token in a fragment. They match inside JSON, so none may run over a quotation mark. */
const SECRET_SHAPES: [RegExp, string][] = [
  [/\b([rs]k_|whsec_)[A-Za-z0-9_+/=-]{6,}/g, `$1${HIDDEN}`],
  [/\b(Bearer|Basic|DPoP)( +|%20)[A-Za-z0-9._~+/=-]{6,}/gi, `$1 ${HIDDEN}`],
  [/\beyJ[A-Za-z0-9_-]{8,}(\.[A-Za-z0-9_-]*){1,2}/g, HIDDEN],
  [/([a-z][a-z0-9+.-]*:\/\/[^\s:/@"\\]*):[^\s@"\\]+@/gi, `$1:${HIDDEN}@`],
  [/([#?&](?:token|access_token|refresh_token|signature|key|secret)=)[^\s&"\\]+/gi, `$1${HIDDEN}`],
]

const DEEPEST = 6

/** What an error may carry beside its message and causes. PostgreSQL's `detail` and `where` quote rows, so they are not among them. */
const TELLING = new Set([
  ...['code', 'errno', 'syscall', 'address', 'port', 'hostname', 'status', 'statusCode', 'failureType'],
  ...['severity', 'schema_name', 'table_name', 'column_name', 'constraint_name', 'routine'],
])

/** A copy of what is to be logged without anything that a name says is secret. Of an error only its name, message, stack, code and causes remain. */
export function hideSecrets(object: Record<string, unknown>): Record<string, unknown> {
  return hideEntries(object, 0)
}

function hideEntries(object: object, depth: number): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(object).map(([name, value]) => [name, isSecret(name) ? HIDDEN : hideValue(value, depth + 1)]),
  )
}

function hideValue(value: unknown, depth: number): unknown {
  if (typeof value === 'function') return '[function]'
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  // Also the end of a circle.
  if (depth > DEEPEST) return '[deeper]'
  if (value instanceof Error) return describeError(value, depth)
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  if (Array.isArray(value)) return value.map((each) => hideValue(each, depth + 1))
  return hideEntries(value, depth)
}

/** HTTP clients and drivers hang requests, headers, configurations and parameters on their errors: only what is known to tell is kept. */
function describeError(error: Error, depth: number): Record<string, unknown> {
  const plain = Object.entries(error).filter(([name, value]) => TELLING.has(name) && typeof value !== 'object')
  const errors = error instanceof AggregateError ? { errors: hideValue(error.errors, depth + 1) } : {}
  const cause = error.cause === undefined ? {} : { cause: hideValue(error.cause, depth + 1) }
  return {
    ...Object.fromEntries(plain),
    type: error.name,
    message: error.message,
    stack: error.stack,
    ...errors,
    ...cause,
  }
}

function isSecret(name: string): boolean {
  return SECRET_NAMES.has(name.toLowerCase().replaceAll(/[-_]/g, ''))
}

/** The last stage: one finished line without anything that has the shape of a secret. */
export function hideSecretText(line: string): string {
  return SECRET_SHAPES.reduce((text, [shape, shown]) => text.replace(shape, shown), line)
}
