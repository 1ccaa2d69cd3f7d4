import { parse, type Node } from 'libpg-query'
import { concurrentIndexOf } from '../../src/db/concurrent-index.js'
import { objectionsToAlteration } from './alteration.js'
import { blocks, breaks, type Objection } from './objection.js'

/** `-- contract: since 1.4.0 nothing reads posts.title any more.` */
const CONTRACTION = /^-- contract: since \d+\.\d+\.\d+ nothing \S.*/

/** A statement of each kind that is known to be safe beside older processes, as it stands or as far as its rule says. What is not listed is refused. */
const RULES: Record<string, (node: Node, made: Set<string>) => Objection[]> = {
  CreateStmt: () => [],
  CreateSeqStmt: () => [],
  CreateEnumStmt: () => [],
  CreateTrigStmt: () => [],
  CommentStmt: () => [],
  InsertStmt: () => [],
  AlterEnumStmt: (node) => ('AlterEnumStmt' in node && node.AlterEnumStmt.oldVal ? [breaks('renames a value')] : []),
  GrantStmt: (node) => ('GrantStmt' in node && !node.GrantStmt.is_grant ? [breaks('revokes')] : []),
  CreateFunctionStmt: (node) =>
    'CreateFunctionStmt' in node && node.CreateFunctionStmt.replace
      ? [breaks('replaces a function that older processes call: make one of another name')]
      : [],
  DropStmt: () => [breaks('drops')],
  RenameStmt: () => [breaks('renames: add the new one, drop the old one in a later release')],
  IndexStmt: (node, made) => ('IndexStmt' in node ? objectionsToIndex(node.IndexStmt, made) : []),
  AlterTableStmt: (node, made) =>
    'AlterTableStmt' in node && !made.has(node.AlterTableStmt.relation?.relname ?? '')
      ? objectionsToAlteration(node.AlterTableStmt)
      : [],
}

/** What is wrong with a migration that runs while older processes do, each in words; empty: nothing. */
export async function objectionsTo(text: string): Promise<string[]> {
  const statements = ((await parse(text)).stmts ?? []).map(({ stmt }) => stmt as Node)
  const made = new Set(
    statements.flatMap((node) => ('CreateStmt' in node ? [node.CreateStmt.relation?.relname ?? ''] : [])),
  )
  const [header = ''] = text.split('\n')
  const contraction = header.startsWith('-- contract:')
  const objections = statements.flatMap((node) => {
    const kind = Object.keys(node)[0] ?? ''
    return RULES[kind]?.(node, made) ?? [blocks(`${kind} has no rule: say in test/support/expansion.ts what it does`)]
  })
  return [
    ...(header.startsWith('-- ') ? [] : ['It begins with a line that says why: `-- …`']),
    ...(contraction && !CONTRACTION.test(header) ? [`The header says as ${CONTRACTION.source} since when`] : []),
    ...objectionsToCompany(text, statements),
    ...objections.filter(({ kind }) => kind === 'blocks' || !contraction).map(({ why }) => why),
  ]
}

/** Migrate knows by its text that a migration is a concurrent index, and runs it outside a transaction. */
function objectionsToCompany(text: string, statements: Node[]): string[] {
  const concurrent = statements.some((node) => 'IndexStmt' in node && node.IndexStmt.concurrent)
  if (!concurrent || (statements.length === 1 && concurrentIndexOf(text))) return []
  return ['A concurrent index is alone in its file, has a name of letters and digits, and no `if not exists`']
}

function objectionsToIndex(
  { relation, concurrent, unique }: Extract<Node, { IndexStmt: unknown }>['IndexStmt'],
  made: Set<string>,
): Objection[] {
  if (made.has(relation?.relname ?? '')) return []
  return [
    ...(concurrent
      ? []
      : [blocks('nobody writes while it is built: `create index concurrently`, in a file of its own')]),
    ...(unique ? [breaks('older processes may write what it refuses')] : []),
  ]
}
