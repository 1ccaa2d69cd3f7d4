import { createServer, type AddressInfo, type Socket } from 'node:net'

/** What a raw receiver does with a request once its head has arrived. */
export type Script = (socket: Socket) => void

/** A receiver that writes bytes instead of HTTP, so that it can do what no server should. */
export async function startRawReceiver(script: Script) {
  const sockets = new Set<Socket>()
  let [connections, written] = [0, 0]
  const server = createServer((socket) => {
    connections++
    sockets.add(socket)
    socket.once('data', () => script(socket))
    socket
      .on('error', () => socket.destroy())
      .on('close', () => {
        written += socket.bytesWritten
        sockets.delete(socket)
      })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: () => connections,
    /** Bytes that went out over connections that are closed. */
    written: () => written,
    open: () => sockets.size,
    stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
