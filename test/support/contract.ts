import Ajv2020, { type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'

interface Document {
  paths: Record<string, Record<string, { responses: Record<string, unknown> }>>
}

const pointer = (part: string) => part.replaceAll('~', '~0').replaceAll('/', '~1')

/** Holds answers against an OpenAPI document: throws for a status or a shape that it does not tell of. */
export class Contract {
  private readonly ajv = addFormats.default(new Ajv2020.default({ strict: false, allErrors: true }))
  private readonly validators = new Map<string, ValidateFunction>()

  constructor(private readonly document: Document) {
    this.ajv.addSchema(document, 'openapi')
  }

  check(method: string, address: string, status: number, body: unknown): void {
    const path = this.findPath(address.replace(/\?.*$/s, ''))
    const operation = path && this.document.paths[path]?.[method.toLowerCase()]
    if (!path || !operation) return // no route: the plain error shape, which other tests look at
    if (!operation.responses[status])
      throw new Error(
        `${method} ${path} answered ${status}, which the document does not tell of: ${JSON.stringify(body)}`,
      )
    const validate = this.validatorOf(path, method.toLowerCase(), status)
    if (!validate(body))
      throw new Error(`${method} ${path} ${status}: ${this.ajv.errorsText(validate.errors)} in ${JSON.stringify(body)}`)
  }

  private findPath(address: string): string | undefined {
    const parts = address.split('/')
    const fits = (path: string) => {
      const wanted = path.split('/')
      return wanted.length === parts.length && wanted.every((part, at) => part.startsWith('{') || part === parts[at])
    }
    // A fixed part is meant before a parameter: /v1/posts/calendar before /v1/posts/{id}.
    return Object.keys(this.document.paths)
      .filter(fits)
      .sort((a, b) => a.split('{').length - b.split('{').length)[0]
  }

  private validatorOf(path: string, method: string, status: number): ValidateFunction {
    const at = ['paths', path, method, 'responses', String(status), 'content', 'application/json', 'schema']
      .map(pointer)
      .join('/')
    const known = this.validators.get(at) ?? this.ajv.compile({ $ref: `openapi#/${at}` })
    this.validators.set(at, known)
    return known
  }
}
