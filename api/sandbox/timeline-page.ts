import type { SandboxPost } from '../../src/sandbox/repository.js'

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const escape = (text: string) => text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? character)

const STYLE = `
  :root { color-scheme: light dark; --ink: #1b2230; --quiet: #5c6675; --paper: #f4f5f7; --card: #fff; --line: #e1e4ea; --mark: #e9edff }
  @media (prefers-color-scheme: dark) {
    :root { --ink: #e8eaf0; --quiet: #9aa3b2; --paper: #14171d; --card: #1d2129; --line: #2c323d; --mark: #2a3252 } }
  * { box-sizing: border-box }
  body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif }
  main { max-width: 38rem; margin: 0 auto; padding: 2.5rem 1rem 4rem }
  h1 { font-size: 1.4rem; margin: 0; overflow-wrap: anywhere }
  header p, time { color: var(--quiet); font-size: .875rem; margin: .25rem 0 0 }
  ol { list-style: none; margin: 1.75rem 0 0; padding: 0; display: grid; gap: .75rem }
  li { background: var(--card); border: 1px solid var(--line); border-radius: .75rem; padding: .9rem 1.1rem; scroll-margin-top: 1rem }
  li:target { background: var(--mark) }
  li p { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere }
  li h2 { font-size: 1.05rem; margin: 0 0 .25rem; overflow-wrap: anywhere }
  li a { display: block; color: inherit; overflow-wrap: anywhere; margin-top: .25rem }
  li a.reply { color: var(--quiet); font-size: .875rem; margin: 0 0 .35rem; text-decoration: none }
  li p.media { border: 1px dashed var(--line); border-radius: .5rem; padding: .35rem .6rem; margin-top: .35rem; font-size: .875rem }
  li p.tags { color: var(--quiet) }
  time { display: block; font-variant-numeric: tabular-nums }
  .empty { text-align: center; color: var(--quiet); padding: 3rem 1rem }`

function renderPost({ post_id, text, title, link, tags, media, reply_to, received_at }: SandboxPost): string {
  const instant = received_at.toISOString()
  const shown = `${instant.slice(0, 10)} ${instant.slice(11, 19)} UTC`
  const lines = [
    reply_to && `<a class="reply" href="#${escape(reply_to)}">in reply to an earlier post</a>`,
    title && `<h2 dir="auto">${escape(title)}</h2>`,
    text && `<p dir="auto">${escape(text)}</p>`,
    ...media.map(
      ({ kind, alt }) =>
        `<p class="media" dir="auto"><b>${escape(kind)}</b> ${escape(alt ?? 'without a description')}</p>`,
    ),
    link && `<a href="${escape(link)}" rel="nofollow noreferrer">${escape(link)}</a>`,
    tags.length > 0 && `<p class="tags" dir="auto">${escape(tags.map((tag) => `#${tag}`).join(' '))}</p>`,
    `<time datetime="${instant}">${shown}</time>`,
  ]
  return `<li id="${post_id}">${lines.filter(Boolean).join('')}</li>`
}

/** The page of one sandbox account: what it accepted, newest first. */
export function renderTimeline({ name, posts }: { name: string; posts: SandboxPost[] }): string {
  const list =
    posts.length > 0
      ? `<ol>${posts.map(renderPost).join('')}</ol>`
      : '<p class="empty">Nothing has been published to this account yet.</p>'
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex"><title>${escape(name)} · sandbox</title><style>${STYLE}</style></head>
<body><main><header><h1>${escape(name)}</h1><p>Sandbox timeline: what this account's platform accepted, newest first.</p></header>
${list}</main></body></html>`
}
