/** Why a statement is refused. What breaks older processes may stand in a contraction; what keeps them waiting, or migrate from its work, nowhere. */
export interface Objection {
  kind: 'breaks' | 'blocks'
  why: string
}

export function breaks(why: string): Objection {
  return { kind: 'breaks', why: `Breaks older processes, so only a contraction may: it ${why}` }
}

export function blocks(why: string): Objection {
  return { kind: 'blocks', why }
}
