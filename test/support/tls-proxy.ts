import { connect, type AddressInfo, type Socket } from 'node:net'
import { createServer, type TlsOptions } from 'node:tls'

/** Ends TLS in front of `target` (host:port) and passes the bytes on, as a gateway before a gRPC server does. */
export async function startTlsProxy(target: string, options: TlsOptions) {
  const [host = '', port] = target.split(':')
  const sockets = new Set<Socket>()
  let refused = 0
  let passed = 0
  const keep = (socket: Socket, other: Socket) => {
    sockets.add(socket)
    // Whatever becomes of one side becomes of the other.
    socket.on('error', () => other.destroy()).on('close', () => other.destroy() && sockets.delete(socket))
  }
  const server = createServer({ ...options, ALPNProtocols: ['h2'] }, (secure) => {
    passed++
    const plain = connect({ host, port: Number(port) })
    keep(secure, plain)
    keep(plain, secure)
    secure.pipe(plain).pipe(secure)
  })
  server.on('tlsClientError', () => void refused++)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Handshakes that came to nothing, and those that did not. */
    counts: () => ({ refused, passed }),
    stop() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
