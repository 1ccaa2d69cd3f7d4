import { setTimeout as sleep } from 'node:timers/promises'
import { isGrpcServiceError, type Connection } from '@temporalio/client'
import { msToTs, tsToMs } from '@temporalio/common/lib/time.js'
import proto from '@temporalio/proto'

const { INDEXED_VALUE_TYPE_KEYWORD } = proto.temporal.api.enums.v1.IndexedValueType
const INVALID_ARGUMENT = 3
const NOT_FOUND = 5
const ALREADY_EXISTS = 6
const DAY_MS = 24 * 3_600_000

/** For so long a server may take to know what it was told: ten seconds, as a rule. */
const KNOWN_WITHIN_MS = 60_000

/** For how many days the namespace keeps closed runs; null when there is no such namespace. */
export async function readRetention({ workflowService }: Connection, namespace: string): Promise<number | null> {
  const found = await foundOrNot(() => workflowService.describeNamespace({ namespace }))
  return found && tsToMs(found.config?.workflowExecutionRetentionTtl) / DAY_MS
}

/** Makes the namespace and waits until the server knows it; false when it was there already. */
export async function createNamespace(
  connection: Connection,
  { namespace, retentionDays }: { namespace: string; retentionDays: number },
): Promise<boolean> {
  const created = await register(connection, { namespace, retentionDays })
  // Its parts ask each other: one that was asked for the namespace before it was made goes on saying for some seconds that there is none.
  await untilKnown(`the namespace ${namespace}`, () =>
    foundOrNot(async () => connection.operatorService.listSearchAttributes({ namespace })).then(Boolean),
  )
  return created
}

async function register(
  { workflowService }: Connection,
  { namespace, retentionDays }: { namespace: string; retentionDays: number },
): Promise<boolean> {
  try {
    const workflowExecutionRetentionPeriod = msToTs(retentionDays * DAY_MS)
    await workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod })
    return true
  } catch (error) {
    if (isGrpcServiceError(error) && Number(error.code) === ALREADY_EXISTS) return false
    throw error
  }
}

/** Keeps closed runs for so many days from now on. */
export async function changeRetention(
  { workflowService }: Connection,
  { namespace, retentionDays }: { namespace: string; retentionDays: number },
): Promise<void> {
  await workflowService.updateNamespace({
    namespace,
    config: { workflowExecutionRetentionTtl: msToTs(retentionDays * DAY_MS) },
  })
}

/** Which of these search attributes the namespace lacks. */
export async function findMissingAttributes(
  { operatorService }: Connection,
  { namespace, names }: { namespace: string; names: readonly string[] },
): Promise<string[]> {
  const { customAttributes } = await operatorService.listSearchAttributes({ namespace })
  return names.filter((name) => customAttributes[name] === undefined)
}

/** Registers these as Keyword. The server goes on refusing them for some seconds: `untilAttributesWork` waits for the end of that. */
export async function addAttributes(
  { operatorService }: Connection,
  { namespace, names }: { namespace: string; names: readonly string[] },
): Promise<void> {
  const searchAttributes = Object.fromEntries(names.map((name) => [name, INDEXED_VALUE_TYPE_KEYWORD]))
  await operatorService.addSearchAttributes({ namespace, searchAttributes })
}

/** Waits until runs can be found by these, which is when they can be started with them. */
export async function untilAttributesWork(
  { workflowService }: Connection,
  { namespace, names }: { namespace: string; names: readonly string[] },
): Promise<void> {
  const query = names.map((name) => `${name} = "none"`).join(' or ')
  await untilKnown(`the search attributes of ${namespace}`, async () => {
    try {
      await workflowService.countWorkflowExecutions({ namespace, query })
      return true
    } catch (error) {
      if (isGrpcServiceError(error) && Number(error.code) === INVALID_ARGUMENT) return false
      throw error
    }
  })
}

/** Null for what the server says it does not have. */
async function foundOrNot<T>(ask: () => Promise<T>): Promise<T | null> {
  try {
    return await ask()
  } catch (error) {
    if (isGrpcServiceError(error) && Number(error.code) === NOT_FOUND) return null
    throw error
  }
}

/** The parts of a server read what was changed from time to time. */
async function untilKnown(what: string, ask: () => Promise<boolean>): Promise<void> {
  for (const deadline = performance.now() + KNOWN_WITHIN_MS; performance.now() < deadline; await sleep(250))
    if (await ask()) return
  throw new Error(`The server was told of ${what} and does not know it yet: run this again.`)
}
