import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server } from 'node:net'

const loopback = '127.0.0.1'

/** A TCP port on loopback that is free now. The kernel does not hand it out again for about a minute. */
export async function freePort(): Promise<number> {
  const server = createServer()
  const port = await listen(server, 0)
  // Closing an accepted connection from our side first leaves the port in TIME_WAIT: two programs that ask
  // at the same moment do not get the same one, and an explicit bind to it still works.
  const accepted = once(server, 'connection')
  const client = connect(port, loopback)
  const [socket] = await accepted
  socket.resume()
  socket.end()
  client.resume()
  await once(client, 'close')
  await close(server)
  return port
}

/** Throws one sentence that names `what` wants the port and the environment `variable` that changes it. Port 0 is always free. */
export async function assertPortFree(port: number, what: string, variable: string): Promise<void> {
  const server = createServer()
  try {
    await listen(server, port)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'EADDRINUSE') {
      throw new Error(
        `Port ${port} is already in use; ${what} cannot listen there. Stop what uses it, or set ${variable} to another one (0 picks a free one).`,
      )
    }
    if (code === 'EACCES') {
      throw new Error(
        `Port ${port} may not be opened by this user; ${what} cannot listen there. Set ${variable} to another one (0 picks a free one).`,
      )
    }
    throw error
  }
  await close(server)
}

async function listen(server: Server, port: number): Promise<number> {
  server.listen(port, loopback)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

async function close(server: Server): Promise<void> {
  server.close()
  await once(server, 'close')
}

/** The port that `variable` names (0 picks a free one; throws one sentence when it is taken), else the usual one, else a free one. */
export async function choosePort(variable: string, usual: number, what: string): Promise<number> {
  const named = process.env[variable]
  if (named) {
    const port = Number(named)
    if (!Number.isInteger(port) || port < 0 || port > 65535)
      throw new Error(`${variable} must be a port from 0 to 65535.`)
    await assertPortFree(port, what, variable)
    return port === 0 ? freePort() : port
  }
  return assertPortFree(usual, what, variable).then(() => usual, freePort)
}
