/** `${NAME}`, `${NAME:-fallback}`, `${NAME:?complaint}`, `$NAME`; `$$` is a dollar sign. */
const VARIABLE = /\$(?:\$|\{(\w+)(?::([-?])([^}]*))?\}|(\w+))/g

export interface Variable {
  name: string
  /** What stands there when it is not set. */
  fallback?: string
  /** What Compose says when it is not set. */
  complaint?: string
}

/** Every mention of a variable in a compose file, comments aside. */
export function findVariables(text: string): Variable[] {
  const written = text.replace(/(^|\s)#.*$/gm, '')
  return [...written.matchAll(VARIABLE)].flatMap(([, braced, kind, words = '', bare]) => {
    const name = braced ?? bare
    if (name === undefined) return []
    return { name, ...(kind === '-' && { fallback: words }), ...(kind === '?' && { complaint: words }) }
  })
}

/** The compose file as Compose reads it with these variables. One that is not set and has no fallback becomes empty. */
export function interpolate<T>(compose: T, variables: NodeJS.ProcessEnv): T {
  const fill = (text: string): string =>
    text.replace(VARIABLE, (_all, braced?: string, kind?: string, words?: string, bare?: string) => {
      const name = braced ?? bare
      return name === undefined ? '$' : variables[name] || (kind === '-' ? (words ?? '') : '')
    })
  return JSON.parse(JSON.stringify(compose), (_key, value: unknown) =>
    typeof value === 'string' ? fill(value) : value,
  ) as T
}
