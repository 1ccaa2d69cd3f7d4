import type { AddressInfo, Server } from 'node:net'

/** Opens the server's port (0 picks a free one) and answers it. Throws one sentence that names the variable to change when it is taken. */
export async function listen(
  server: Server,
  { host, port, variable }: { host: string; port: number; variable: string },
): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    const refuse = (error: NodeJS.ErrnoException) =>
      reject(error.code === 'EADDRINUSE' ? new Error(taken(port, variable)) : error)
    server.once('error', refuse).listen(port, host, () => {
      server.off('error', refuse)
      resolve()
    })
  })
  return (server.address() as AddressInfo).port
}

const taken = (port: number, variable: string) =>
  `Port ${port} is already in use; nothing was started. Stop what uses it, or set ${variable} to another one (0 picks a free one).`
