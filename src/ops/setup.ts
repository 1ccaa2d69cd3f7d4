import { describePlace } from '../storage/open-store.js'
import { readArguments, refuseArguments } from './arguments.js'
import { Refusal, UsageError, type Command } from './command.js'
import type { TemporalOperations } from './temporal-operations.js'

export const temporalSetup: Command = {
  words: 'temporal-setup',
  takes: '[--retention DAYS] [--cloud]',
  does: 'Make the namespace (closed runs are kept 7 days) and its search attributes; --cloud prints the commands for Temporal Cloud instead',
  anyDatabase: true,
  async run({ config, temporal, print }, args) {
    const { words, text, has } = readArguments(args, { texts: ['retention'], switches: ['cloud'] })
    const retentionDays = readDays(text('retention'))
    if (words.length > 0) throw new UsageError('temporal-setup takes --retention and --cloud only.')
    const { namespace, address } = config.temporal
    if (has('cloud')) return cloudCommands(namespace, retentionDays ?? 7, temporal).forEach((line) => print(line))
    const { created, added, ...now } = await temporal.setUp({ retentionDays }).catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error)
      throw new Refusal(
        `Temporal at ${address} did not do it (${why}). On Temporal Cloud, \`temporal-setup --cloud\` prints what to run instead.`,
        { cause: error },
      )
    })
    print(`namespace   ${namespace} ${created ? 'made' : 'is there'}; closed runs are kept ${now.retentionDays} days`)
    print(`attributes  ${temporal.searchAttributes.join(', ')}; added: ${added.join(', ') || 'none'}`)
  },
}

export const storageSetup: Command = {
  words: 'storage-setup',
  takes: '',
  does: 'Make the bucket, or the folder, that files are kept in',
  anyDatabase: true,
  async run({ config, blobs, print }, args) {
    refuseArguments(args, 'storage-setup')
    print(`${describePlace(config.media)} ${(await blobs.create()) ? 'made' : 'is there'}`)
  },
}

function readDays(text: string | undefined): number | null {
  if (text === undefined) return null
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new UsageError('--retention takes a number of days from 1 to 9999.')
  return Number(text)
}

/** Search attributes and namespaces of Temporal Cloud are made by its own program, tcld, and not over the API that applications use. */
function cloudCommands(namespace: string, days: number, { searchAttributes }: TemporalOperations): string[] {
  const attributes = searchAttributes.map((name) => `--search-attribute ${name}=Keyword`).join(' ')
  const [name] = namespace.split('.')
  return [
    '# A namespace that does not exist yet; its full name is then NAME.ACCOUNT, which TEMPORAL_NAMESPACE must say:',
    `tcld namespace create --namespace ${name} --region REGION --retention-days ${days} ${attributes}`,
    '# One that does:',
    `tcld namespace search-attributes add --namespace ${namespace} ${attributes}`,
    `tcld namespace retention set --namespace ${namespace} --retention-days ${days}`,
  ]
}
