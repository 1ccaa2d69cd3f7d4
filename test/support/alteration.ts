import type { AlterTableCmd, AlterTableStmt, ColumnDef, Constraint, Node } from 'libpg-query'
import { blocks, breaks, type Objection } from './objection.js'

/** Changes of a table that older processes use, by what becomes of these. What is not listed is refused. */
const RULES: Partial<
  Record<NonNullable<AlterTableCmd['subtype']>, (command: AlterTableCmd, added: Set<string>) => Objection[]>
> = {
  AT_AddColumn: ({ def }) => (def && 'ColumnDef' in def ? objectionsToColumn(def.ColumnDef) : []),
  AT_AddConstraint: ({ def }, added) =>
    def && 'Constraint' in def ? objectionsToConstraint(def.Constraint, added) : [],
  AT_ColumnDefault: ({ def }) => (def ? [] : [breaks('takes a default away that they rely on')]),
  AT_DropNotNull: () => [],
  AT_ValidateConstraint: () => [],
  AT_SetStatistics: () => [],
  AT_SetRelOptions: () => [],
  AT_ResetRelOptions: () => [],
  AT_DropColumn: () => [breaks('drops a column')],
  AT_AlterColumnType: () => [breaks('changes a type: add a column of the new one')],
  AT_SetNotNull: () => [breaks('refuses the null they may write')],
  AT_DropConstraint: () => [breaks('drops a constraint')],
}

export function objectionsToAlteration({ cmds = [], objtype }: AlterTableStmt): Objection[] {
  if (objtype !== 'OBJECT_TABLE') return [blocks(`${objtype} has no rule`)]
  const commands = cmds.flatMap((node) => ('AlterTableCmd' in node ? [node.AlterTableCmd] : []))
  const added = new Set(commands.flatMap(({ def }) => (def && 'ColumnDef' in def ? [def.ColumnDef.colname ?? ''] : [])))
  return commands.flatMap((command) => {
    const rule = RULES[command.subtype ?? 'AT_GenericOptions']
    return (
      rule?.(command, added) ?? [
        blocks(`${command.subtype} has no rule: say in test/support/alteration.ts what it does`),
      ]
    )
  })
}

/** Free when its default is one value for all rows: it is kept in the catalogue. Everything else reads or writes the whole table, and all wait. */
function objectionsToColumn({ constraints = [], colname, typeName }: ColumnDef): Objection[] {
  const own = constraints.flatMap((node) => ('Constraint' in node ? [node.Constraint] : []))
  const has = (type: Constraint['contype']) => own.some(({ contype }) => contype === type)
  const defaults = own.filter(({ contype }) => contype === 'CONSTR_DEFAULT')
  return [
    ...(has('CONSTR_NOTNULL') && !has('CONSTR_DEFAULT') ? [breaks(`adds ${colname}, which they do not fill in`)] : []),
    ...(defaults.some((each) => calls(each).some((name) => name !== 'now')) ||
    has('CONSTR_GENERATED') ||
    has('CONSTR_IDENTITY') ||
    strings(typeName?.names).some((name) => name.endsWith('serial'))
      ? [blocks(`${colname} is computed for each row while all wait: add it without, and fill it in batches`)]
      : []),
    ...(['CONSTR_CHECK', 'CONSTR_FOREIGN', 'CONSTR_UNIQUE', 'CONSTR_PRIMARY'] as const)
      .filter(has)
      .map(() =>
        blocks(
          `all rows are checked for ${colname} while all wait: \`add constraint … not valid\` beside it, validated in a later file`,
        ),
      ),
  ]
}

function objectionsToConstraint(constraint: Constraint, added: Set<string>): Objection[] {
  const free = constraint.skip_validation || constraint.indexname
  const onlyNew = columnsOf(constraint).every((column) => added.has(column))
  return [
    ...(free
      ? []
      : [blocks('all rows are checked while all wait: `not valid`, validated in a later file; a key `using index`')]),
    ...(constraint.skip_validation && onlyNew ? [] : [breaks('refuses what they may write')]),
  ]
}

function columnsOf({ raw_expr, fk_attrs = [], keys = [] }: Constraint): string[] {
  const referred = nodesIn(raw_expr, 'ColumnRef').flatMap(({ fields }) => strings(fields).slice(-1))
  return [...referred, ...strings(fk_attrs), ...strings(keys)]
}

function calls({ raw_expr }: Constraint): string[] {
  return nodesIn(raw_expr, 'FuncCall').flatMap(({ funcname }) => strings(funcname).slice(-1))
}

function strings(nodes: Node[] = []): string[] {
  return nodes.flatMap((node) => ('String' in node ? [node.String.sval ?? ''] : []))
}

/** Every node of this kind, at any depth. */
function nodesIn<K extends 'ColumnRef' | 'FuncCall'>(value: unknown, kind: K): Extract<Node, Record<K, unknown>>[K][] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => [
    ...(key === kind ? [inner as Extract<Node, Record<K, unknown>>[K]] : []),
    ...nodesIn(inner, kind),
  ])
}
