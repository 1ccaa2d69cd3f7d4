import { migrate } from '../../src/db/migrate.js'
import { startApp, type App, type Tenant } from '../support/app.js'
import { holdLock } from '../support/lock-holder.js'
import { migrationFolder } from '../support/migration-folder.js'
import { until } from '../support/until.js'

const POSTS = 300
const AT_ONCE = 4

/** What the next release adds to tables that every request writes; both in one file, in the order that requests do not take them in. */
const NEXT_RELEASE = {
  '9001_moods.sql': `-- Posts have a mood.
    alter table deliveries add column mood text not null default 'calm';
    alter table posts add column mood text not null default 'calm';
    create table moods (post_id text primary key references posts, mood text not null);`,
  '9002_moods_of_posts.sql': `-- Found by their mood.
    create index concurrently posts_by_mood on posts (organisation_id, mood);`,
}

let app: App
let tenant: Tenant
let connection: string
let next: Awaited<ReturnType<typeof migrationFolder>>

beforeEach(async () => {
  ;[app, next] = await Promise.all([startApp(), migrationFolder(NEXT_RELEASE, { nextRelease: true })])
  tenant = await app.tenant()
  connection = await tenant.connect()
})
afterEach(() => Promise.all([app.stop(), next.remove()]))

/** Posts without a pause, a few at once, until it is asked whether all went out; POSTS at the most. */
function startLoad() {
  const answers: { text: string; status: number }[] = []
  let [begun, wanted] = [0, POSTS]
  const post = async () => {
    while (begun < wanted) {
      const text = `under load ${begun++}`
      const body = { content: { text }, connection_ids: [connection] }
      answers.push({ text, status: (await tenant.call('POST', '/v1/posts', body)).status })
    }
  }
  const posting = Promise.all(Array.from({ length: AT_ONCE }, post))
  return {
    answers,
    untilAnswered: (count: number) => until(`${count} posts are answered`, () => answers.length >= count, 120_000),
    /** Every request was taken, and every delivery went out, once. */
    async expectAllPublished() {
      wanted = begun
      await posting
      expect(answers.filter(({ status }) => status !== 202)).toEqual([])
      await until(
        'every post is settled',
        async () => (await app.sql`select 1 from posts where settled_at is null limit 1`).length === 0,
        180_000,
      )
      const accepted = await Promise.all(answers.map(async ({ text }) => app.timesAccepted(text)))
      expect(accepted).toEqual(answers.map(() => 1))
    },
  }
}

test('an expansion is applied under load: no request fails, everything goes out once, and the old release does not start again', async () => {
  const load = startLoad()
  await load.untilAnswered(40)
  expect(await migrate(app.sql, { folder: next.url })).toEqual(Object.keys(NEXT_RELEASE))
  await load.untilAnswered(Math.min(POSTS, load.answers.length + 60))
  await load.expectAllPublished()
  expect(await app.sql`select distinct mood from posts`).toEqual([{ mood: 'calm' }])

  const refusal = /The database is newer than this code: it has migration 9002_moods_of_posts.sql/
  await Promise.all([app.api?.stop(), app.worker?.stop()])
  await expect(app.startApi()).rejects.toThrow(refusal)
  await expect(app.startWorker()).rejects.toThrow(refusal)
})

test('somebody holds a table for longer than a migration waits for it: requests go on between its tries, and it is applied afterwards', async () => {
  const holder = await holdLock(app.database.url, 'lock table deliveries in access share mode')
  const load = startLoad()
  const waits: string[] = []
  const migrating = migrate(app.sql, { folder: next.url, onWait: (line) => waits.push(line) })
  await until('it has given way twice', () => waits.length > 1)
  await load.untilAnswered(Math.min(POSTS, load.answers.length + AT_ONCE))
  await holder.letGo()
  expect(await migrating).toEqual(Object.keys(NEXT_RELEASE))
  await load.expectAllPublished()
})

test('somebody never lets go of a table: requests go on, and the migration ends with who it was', async () => {
  const holder = await holdLock(app.database.url, 'lock table deliveries in access share mode')
  const load = startLoad()
  await expect(migrate(app.sql, { folder: next.url, budgetMs: 3_000 })).rejects.toThrow(
    new RegExp(
      `^Migration 9001_moods.sql was not applied: for 3 s it waited in vain for a lock held by process ${holder.pid} ` +
        String.raw`\(a careless report, idle in transaction for \d+ s\)`,
    ),
  )
  await load.untilAnswered(Math.min(POSTS, load.answers.length + AT_ONCE))
  await load.expectAllPublished()
  await holder.letGo()
  expect(await migrate(app.sql, { folder: next.url })).toEqual(Object.keys(NEXT_RELEASE))
})
