import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { readMigrations } from '../src/db/migration-files.js'
import { objectionsTo } from './support/expansion.js'

/** The last of those that were there before the rule. */
const BASELINE = '0017_server_limits.sql'

test('every migration is numbered after the one before it', async () => {
  const names = (await readMigrations()).map(({ name }) => name)
  for (const name of names) expect(name).toMatch(/^\d{4}_[a-z_]+\.sql$/)
  const numbers = names.map((name) => name.slice(0, 4))
  expect(numbers).toEqual([...new Set(numbers)].sort())
})

test('what has landed is not changed: a new one is added by `cd src/db/migrations && sha256sum *.sql > SHA256SUMS`', async () => {
  const sums = (await readMigrations()).map(
    ({ name, text }) => `${createHash('sha256').update(text).digest('hex')}  ${name}\n`,
  )
  expect(sums.join('')).toBe(await readFile(new URL('../src/db/migrations/SHA256SUMS', import.meta.url), 'utf8'))
})

test('every migration after the baseline expands, or says since when nothing uses what it takes away', async () => {
  const later = (await readMigrations()).filter(({ name }) => name > BASELINE)
  const objections = await Promise.all(later.map(async ({ name, text }) => [name, await objectionsTo(text)]))
  expect(objections).toEqual(later.map(({ name }) => [name, []]))
})

const written = (header: string, statements: string) => `${header}\n\n${statements};\n`
const EXPANSION = '-- Posts have a mood.'
const CONTRACTION = '-- contract: since 1.4.0 nothing reads posts.title any more.'

describe('an expansion', () => {
  test.each([
    `create table moods (id text primary key, post_id text not null references posts);
     create unique index moods_of_post on moods (post_id); alter table moods add constraint short check (length(id) < 9)`,
    `alter table posts add column mood text, add column rank int not null default 0`,
    `alter table posts add column seen_at timestamptz not null default now()`,
    `alter table posts add column mood text, add constraint known_mood check (mood in ('good', 'bad')) not valid`,
    `alter table posts add column mood_id text, add foreign key (mood_id) references moods not valid`,
    `alter table posts validate constraint known_mood`,
    `alter table posts alter column content drop not null`,
    `alter table posts alter column timezone set default 'UTC'`,
    `create index concurrently posts_by_mood on posts (mood) where mood is not null`,
    `create function mood_of(post text) returns text language sql as 'select ''drop table posts'''`,
    `create trigger copies_mood after insert on posts for each row execute function copy_mood()`,
    `insert into paused_platforms (platform, reason) values ('alter table posts drop column title', '')`,
    `-- drop table posts;\n/* alter table posts drop column title */ alter table posts add column mood text`,
    `comment on table posts is 'drop table posts'; grant select on posts to reader; alter type mood add value 'calm'`,
  ])('may be %j', async (statements) => {
    expect(await objectionsTo(written(EXPANSION, statements))).toEqual([])
  })

  test.each([
    ['drop table posts', 'drops'],
    ['create table moods (id int); DROP\n TABLE IF EXISTS posts', 'drops'],
    ['drop index posts_of_organisation', 'drops'],
    ['drop function platform_open(text)', 'drops'],
    ['drop trigger audit_log_is_append_only on audit_log', 'drops'],
    ['alter table posts add column a int, drop column title', 'drops a column'],
    ['alter table posts rename column content to body', 'renames'],
    ['alter table only "posts" rename to articles', 'renames'],
    ['alter index posts_of_organisation rename to p', 'renames'],
    ['alter table posts alter column content type text', 'changes a type'],
    ['alter table posts alter settled_at set not null', 'refuses the null'],
    ['alter table posts add column mood text not null', 'do not fill in'],
    ['alter table posts add mood text not null', 'do not fill in'],
    ['alter table posts alter column status drop default', 'takes a default away'],
    ['alter table posts drop constraint posts_status_check', 'drops a constraint'],
    ['alter table posts add constraint c check (id <> created_by) not valid', 'refuses what they may write'],
    [`alter table posts add column mood text, add check (mood <> id) not valid`, 'refuses what they may write'],
    ['create unique index concurrently one_post on posts (external_id)', 'may write what it refuses'],
    [`create or replace function platform_open(name text) returns boolean language sql as 'select true'`, 'replaces'],
    ['revoke select on posts from reader', 'revokes'],
    [`alter type mood rename value 'good' to 'fine'`, 'renames a value'],
  ])('may not be %j, which a contraction may', async (statements, why) => {
    const objections = await objectionsTo(written(EXPANSION, statements))
    expect(objections).toEqual([expect.stringMatching(new RegExp(`^Breaks older processes.*${why}`))])
    expect(await objectionsTo(written(CONTRACTION, statements))).toEqual([])
  })
})

test.each([
  ['create index posts_by_mood on posts (mood)', /nobody writes while it is built/],
  ['create table a (id int); create index concurrently b on a (id)', /alone in its file/],
  ['create index concurrently on posts (mood)', /alone in its file/],
  ['create index concurrently if not exists posts_by_mood on posts (mood)', /alone in its file/],
  ['alter table posts add column n uuid default gen_random_uuid()', /computed for each row/],
  ['alter table posts add column n int generated always as (length(id)) stored', /computed for each row/],
  ['alter table posts add column n bigserial', /computed for each row/],
  [`alter table posts add column n text check (n <> '')`, /all rows are checked/],
  ['alter table posts add column n text references moods', /all rows are checked/],
  ['alter table posts add unique (external_id)', /all rows are checked/],
  [`update posts set mood = 'good'`, /UpdateStmt has no rule/],
  ['delete from posts', /DeleteStmt has no rule/],
  ['do $$ begin execute $q$drop table posts$q$; end $$', /DoStmt has no rule/],
  ['set lock_timeout = 0', /VariableSetStmt has no rule/],
  ['commit', /TransactionStmt has no rule/],
  ['alter table posts disable trigger all', /AT_DisableTrigAll has no rule/],
  ['truncate posts', /TruncateStmt has no rule/],
  ['alter view v alter column a set default 1', /OBJECT_VIEW has no rule/],
])('neither an expansion nor a contraction may be %j', async (statements, why) => {
  for (const header of [EXPANSION, CONTRACTION])
    expect(await objectionsTo(written(header, statements))).toContainEqual(expect.stringMatching(why))
})

test('a contraction says since which release nothing uses what it takes away, and every migration why it is there', async () => {
  const drop = 'alter table posts drop column title'
  for (const since of ['the title is gone', 'since now nothing reads it', 'since 1.4.0'])
    expect(await objectionsTo(written(`-- contract: ${since}`, drop))).toEqual([
      expect.stringContaining('The header says'),
    ])
  expect(await objectionsTo('alter table posts add column mood text')).toEqual([expect.stringContaining('says why')])
  await expect(objectionsTo(written(EXPANSION, 'alter tabel posts'))).rejects.toThrow('syntax error')
})
