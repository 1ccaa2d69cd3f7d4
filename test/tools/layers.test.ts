import { fileURLToPath } from 'node:url'
import { ESLint } from 'eslint'

const eslint = new ESLint({ cwd: fileURLToPath(new URL('../..', import.meta.url)) })

async function breachesOf(filePath: string, code: string): Promise<string[]> {
  const [result] = await eslint.lintText(code, { filePath })
  return (result?.messages ?? []).map(({ ruleId }) => ruleId ?? 'parse').filter((rule) => /restricted/.test(rule))
}

/** A line that breaks the picture of ARCHITECTURE.md, each of which lint refuses. */
test.each([
  ['api/relay/x.ts', "import '../../workflows/index.js'"],
  ['api/relay/x.ts', "import '../../activities/relay/deliveries.js'"],
  ['api/relay/x.ts', "import '../../temporal/commands.js'"],
  ['api/relay/x.ts', "import '@temporalio/client'"],
  ['api/relay/x.ts', "import 'postgres'"],
  ['api/relay/x.ts', "await fetch('http://x')"],
  ['api/relay/x.ts', 'export const x = process.env.X'],
  ['temporal/x.ts', "import '../api/app.js'"],
  ['temporal/x.ts', "import '../activities/relay/deliveries.js'"],
  ['temporal/x.ts', "import { deliverPost } from '../workflows/relay/deliver-post.js'\nvoid deliverPost"],
  ['workflows/relay/x.ts', "import { z } from 'zod'\nvoid z"],
  ['workflows/relay/x.ts', "import '../../src/db/client.js'"],
  [
    'workflows/relay/x.ts',
    "import { createDeliveryActivities } from '../../activities/relay/deliveries.js'\nvoid createDeliveryActivities",
  ],
  ['activities/relay/x.ts', "import '../../temporal/commands.js'"],
  ['activities/relay/x.ts', "import '@temporalio/client'"],
  ['src/relay/x.ts', "import 'express'"],
  ['src/relay/x.ts', "import '@temporalio/common'"],
  ['src/relay/x.ts', "import '../../api/app.js'"],
  ['src/relay/x.ts', "import '../sign/envelopes/rules.js'"],
  ['src/webhooks/x.ts', "import '../relay/events/schema.js'"],
  ['src/webhooks/x.ts', "import { request } from 'undici'\nvoid request"],
  ['src/sign/x.ts', "import '../relay/posts/rules.js'"],
  ['src/relay/x.ts', "import { request } from 'undici'\nvoid request"],
  ['src/accounts/x.ts', "import 'node:https'"],
  ['src/operations/x.ts', "import { request } from 'node:http'\nvoid request"],
  ['api/http/x.ts', "import * as net from 'node:net'\nvoid net"],
  ['temporal/x.ts', "import { connect } from 'node:net'\nvoid connect"],
  ['src/relay/x.ts', 'try { void 0 } catch {}'],
])('%s: %s', async (filePath, code) => {
  expect(await breachesOf(filePath, code)).not.toEqual([])
})

test.each([
  [
    'workflows/relay/x.ts',
    "import type { DeliveryActivities } from '../../activities/relay/deliveries.js'\nexport type X = DeliveryActivities",
  ],
  [
    'workflows/relay/x.ts',
    "import { ERRORS } from '../../src/errors.js'\nimport { rollUp } from '../../src/relay/posts/rules.js'\nvoid [ERRORS, rollUp]",
  ],
  [
    'temporal/x.ts',
    "import type { deliverPost } from '../workflows/relay/deliver-post.js'\nexport type X = typeof deliverPost",
  ],
  ['src/relay/x.ts', "import type { Dispatcher } from 'undici'\nexport type X = Dispatcher"],
  ['src/operations/x.ts', "import { createServer } from 'node:http'\nvoid createServer"],
  ['api/http/x.ts', "import { route } from './route.js'\nvoid route"],
])('what the picture allows passes: %s', async (filePath, code) => {
  expect(await breachesOf(filePath, code)).toEqual([])
})
