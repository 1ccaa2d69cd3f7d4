import type { Pds } from '../../test/real/pds.js'
import { playBluesky } from './bluesky.js'
import { RelayClient } from './client.js'
import type { Facts } from './facts.js'
import type { DemoReceiver } from './receiver.js'
import { playScenes } from './scenes.js'
import { playImage, playReceiver } from './world.js'

/** Servers of the outside world that whoever plays the demo has started and the product may call. */
export interface World {
  bluesky: Pds | null
  receiver: DemoReceiver
}

interface Played {
  api: string
  key: string
  /** Address of the page of a run in the Temporal UI, less its id; null where there is none. */
  runs: string | null
  facts: Facts
  say: (line: string) => void
}

/** Plays every scene against a running product. */
export async function playDemo({ api, key, ...shown }: Played, world: World | null): Promise<void> {
  const { say } = shown
  const stage = { client: new RelayClient(api, key), ...shown }
  await playScenes(stage)
  await playImage(stage)
  if (world) await playReceiver(stage, world.receiver)
  else say('\nNot shown: webhooks. A demo that starts its own stack is told of events by a server of its own.')
  if (world?.bluesky) await playBluesky(stage, world.bluesky)
  else
    say(
      '\nNot shown: a real Bluesky server. `npm run test:real` installs one, and a demo that starts its own stack then posts to it too.',
    )
}
