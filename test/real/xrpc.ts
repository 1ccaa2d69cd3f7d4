export interface XrpcCall {
  /** Sent as the query of a GET. */
  query?: Record<string, string>
  /** Sent as JSON; makes it a POST. */
  body?: unknown
  authorization?: string
}

/** Calls one method of a PDS and returns its answer. Throws one sentence with the body when it refuses. */
export async function callXrpc<T>(url: string, method: string, call: XrpcCall = {}): Promise<T> {
  const { query = {}, body, authorization } = call
  const response = await fetch(`${url}/xrpc/${method}?${new URLSearchParams(query).toString()}`, {
    headers: {
      ...(authorization === undefined ? {} : { authorization }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  })
  const answer = await response.text()
  if (!response.ok) throw new Error(`${method} answered ${response.status}: ${answer}`)
  return (answer === '' ? undefined : JSON.parse(answer)) as T
}
