import { writeAudit } from '../audit/repository.js'
import { createPlatforms } from '../relay/platforms/index.js'
import { pausePlatform, resumePlatform } from '../relay/platforms/pauses.js'
import { wakePaused } from '../relay/deliveries/wake-paused.js'
import { readArguments } from './arguments.js'
import { operatorDeed } from './audit.js'
import { Refusal, UsageError, type Command, type Operation } from './command.js'

export const pause: Command = {
  words: 'pause',
  takes: 'PLATFORM --reason TEXT',
  does: 'Publish nothing to a platform until it is resumed; what is under way ends',
  async run({ config, database, print }, args) {
    const { platform, reason } = readPause(args)
    const known = [...createPlatforms(config).keys()]
    if (!known.includes(platform))
      throw new Refusal(`There is no platform "${platform}" here; there are ${known.join(', ')}. Nothing was changed.`)
    const { since } = await database.begin(async (tx) => {
      await writeAudit(tx, operatorDeed('platform.paused', platform))
      return pausePlatform(tx, { platform, reason })
    })
    print(`${platform} is paused since ${since.toISOString()}: ${reason}`)
  },
}

export const resume: Command = {
  words: 'resume',
  takes: 'PLATFORM',
  does: 'Lift the pause of a platform and wake what waits for it',
  async run({ database, print }: Operation, args) {
    const [platform, ...more] = args
    if (!platform || platform.startsWith('-') || more.length > 0) throw new UsageError('resume takes one platform.')
    const lifted = await database.begin(async (tx) => {
      const lifted = await resumePlatform(tx, platform)
      if (lifted) await writeAudit(tx, operatorDeed('platform.resumed', platform))
      return lifted
    })
    // Also when there was no pause: a resume that died half-way left some asleep.
    const woken = await wakePaused(database, platform)
    print(lifted ? `${platform} is resumed; deliveries woken: ${woken}` : `${platform} is not paused`)
  },
}

function readPause(args: string[]): { platform: string; reason: string } {
  const { words, text } = readArguments(args, { texts: ['reason'] })
  const [platform, ...more] = words
  const reason = text('reason')
  if (platform && reason && more.length === 0) return { platform, reason }
  throw new UsageError('pause takes one platform and --reason "…".')
}
