/** Codes of a server that is away, coming or going or has no connection left (PostgreSQL Appendix A classes 08 and 57P and 53300, the driver's, and the socket's own). */
const AWAY =
  /^(08|57P)|^(CONNECTION_|CONNECT_TIMEOUT)|^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENOTFOUND|EAI_AGAIN)$|^53300$/

/** Whether an error says that the database, or another server, cannot be reached now: a refusal it makes itself does not. */
export function isAway(error: unknown): boolean {
  return error instanceof Error && 'code' in error && AWAY.test(String(error.code))
}
