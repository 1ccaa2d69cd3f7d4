import type { App } from './app.js'
import { showHistory } from './temporal.js'

/** Where any of the secrets can be read: in a row (but for the sandbox's own side), in a log line, or in the history of a run. */
export async function findLeaks(app: App, secrets: string[]): Promise<string[]> {
  const places = [
    ...(await readRows(app)),
    ...app.logs.map((line) => ['log', line] as const),
    ...(await readHistories(app)),
  ]
  return places
    .filter(([, text]) => secrets.some((secret) => text.includes(secret)))
    .map(([place, text]) => `${place}: ${text.slice(0, 200)}`)
}

async function readRows({ sql }: App): Promise<(readonly [string, string])[]> {
  const tables = await sql<{ name: string }[]>`
    select table_name as name from information_schema.tables where table_schema = 'public' and table_name not like 'sandbox%'`
  const rows = await Promise.all(
    tables.map(async ({ name }) =>
      (await sql<{ row: string }[]>`select t::text as row from ${sql(name)} t`).map(({ row }) => [name, row] as const),
    ),
  )
  return rows.flat()
}

async function readHistories({ sql }: App): Promise<(readonly [string, string])[]> {
  const runs = await sql<
    { id: string }[]
  >`select 'delivery/' || id || '/' || g as id from deliveries, generate_series(1, generation) g
    union all select distinct 'webhook/' || endpoint_id from webhook_attempts`
  return Promise.all(
    runs.map(async ({ id }) => {
      const { json } = await showHistory(id)
      const decoded = json.replaceAll(
        /"data": "([A-Za-z0-9+/=]+)"/g,
        (whole, data: string) => `${whole} ${Buffer.from(data, 'base64').toString()}`,
      )
      return [`history of ${id}`, decoded] as const
    }),
  )
}
