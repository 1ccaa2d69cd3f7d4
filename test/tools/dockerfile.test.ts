import { readFile } from 'node:fs/promises'
import { readDockerfile } from '../../tools/rehearse/dockerfile.js'

test('the image is built in stages on Node 24, with production packages only, and runs the api as nobody special', async () => {
  const stages = readDockerfile(await readFile(new URL('../../Dockerfile', import.meta.url), 'utf8'))
  expect(stages.map(({ name, image }) => [name, image])).toEqual([
    ['build', 'node:24-bookworm-slim'],
    ['dependencies', 'node:24-bookworm-slim'],
    ['2', 'node:24-bookworm-slim'],
  ])
  const runs = stages.map(({ steps }) => steps.flatMap((step) => (step.kind === 'run' ? step.command : [])))
  expect(runs[1]).toEqual([expect.stringMatching(/^npm ci --omit=dev /)])
  expect(runs[2]).toEqual([expect.stringMatching(/^apt-get .* openssl /)])
  const image = stages.at(-1)!
  expect(image.user).toBe('node')
  expect(image.command).toEqual(['node', 'dist/api/server.js'])
  expect(image.healthcheck.slice(0, 2)).toEqual(['node', '-e'])
  const sources = image.steps.flatMap((step) => (step.kind === 'copy' ? [[step.from, ...step.sources].join(' ')] : []))
  // Nothing of the sources: what was compiled, and the packages it needs.
  expect(sources).toEqual(['dependencies /app/node_modules', 'build /app/dist', ' package.json'])
  expect(image.steps).toContainEqual({
    kind: 'env',
    variables: expect.objectContaining({ NODE_ENV: 'production', WORKFLOW_BUNDLE: 'dist/workflows.cjs' }),
  })
})

test.each(['ADD x y', 'VOLUME /data', 'ARG X', 'ENTRYPOINT ["node"]', 'SHELL ["/bin/bash"]'])(
  'what the rehearsal cannot carry out (%s) is refused and not passed over',
  (line) => {
    expect(() => readDockerfile(`FROM node:24\n${line}\n`)).toThrow(line.split(' ')[0])
  },
)
