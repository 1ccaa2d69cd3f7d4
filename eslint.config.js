import tseslint from 'typescript-eslint'

const up = (...folders) => folders.map((folder) => `**/${folder}/**`)
const deny = (group, message, allowTypeImports = false) => ({ group, message, allowTypeImports })

const OUTSIDE = 'Calls to the outside go through src/egress and src/relay/platforms/http.ts.'
const HTTP_CLIENTS = [
  { regex: '^(undici|axios|got|node-fetch|(node:)?(https|http2|tls))$', message: OUTSIDE, allowTypeImports: true },
  // To answer is not to call out.
  { regex: '^(node:)?(http|net)$', message: OUTSIDE, allowTypeImports: true, allowImportNames: ['createServer'] },
]

/** Who may import whom (ARCHITECTURE.md, The layers). Patterns are of import paths, so a breach fails whatever it imports there. */
const LAYERS = {
  api: [
    deny(up('workflows', 'activities'), 'api imports src only (server.ts also the relay loop of temporal).'),
    deny(up('temporal'), 'Only api/server.ts imports temporal.'),
    deny(['@temporalio/*', 'postgres'], 'api knows nothing of Temporal, and SQL is written in src.'),
    ...HTTP_CLIENTS,
  ],
  temporal: [
    deny(up('api'), 'temporal imports src, and types of workflows.'),
    deny(up('workflows'), 'temporal imports types of workflows only.', true),
    deny(up('activities'), 'Only temporal/worker.ts imports activities.'),
    ...HTTP_CLIENTS,
  ],
  workflows: [
    deny(up('api', 'temporal'), 'A workflow only orders and waits.'),
    deny(up('activities'), 'A workflow imports types of activities only.', true),
    {
      regex: '/src/(?!errors\\.js$|.*/rules\\.js$)',
      message: 'A workflow imports errors and rules of src, and types.',
      allowTypeImports: true,
    },
    deny(
      ['node:*', 'zod', 'postgres', 'express', '@temporalio/client', '@temporalio/worker', '@temporalio/activity'],
      'Not in a workflow.',
    ),
    ...HTTP_CLIENTS,
  ],
  activities: [
    deny(up('api', 'temporal', 'workflows'), 'An activity imports src only.'),
    deny(
      ['@temporalio/client', '@temporalio/worker', '@temporalio/workflow', 'express', 'postgres'],
      'Not in an activity.',
    ),
    ...HTTP_CLIENTS,
  ],
  src: [
    deny(up('api', 'temporal', 'workflows', 'activities'), 'src knows nothing of what stands on it.'),
    deny(['express', '@temporalio/*'], 'src knows nothing of Express or Temporal.'),
    ...HTTP_CLIENTS,
  ],
}

const layer = (files, patterns, ignores = []) => ({
  files,
  ignores,
  rules: { '@typescript-eslint/no-restricted-imports': ['error', { patterns }] },
})

export default tseslint.config(
  { ignores: ['node_modules', 'dist', '.data', '.cache', '**/node_modules'] },
  ...tseslint.configs.strict,
  {
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-invalid-void-type': 'off',
      '@typescript-eslint/no-unused-vars': ['error', { ignoreRestSiblings: true, argsIgnorePattern: '^_' }],
      'no-restricted-syntax': [
        'error',
        { selector: 'ExportDefaultDeclaration', message: 'Exports have names.' },
        { selector: 'CatchClause[body.body.length=0]', message: 'An error is handled, answered or thrown on.' },
      ],
    },
  },
  {
    files: ['api/**', 'src/**', 'temporal/**', 'workflows/**', 'activities/**'],
    rules: {
      'no-restricted-globals': ['error', { name: 'fetch', message: 'Calls to the outside go through src/egress.' }],
      'no-restricted-properties': [
        'error',
        {
          object: 'process',
          property: 'env',
          message: 'The environment is read by src/config.ts, from a process entry.',
        },
      ],
      'no-console': 'error',
    },
  },
  layer(['api/**/*.ts'], LAYERS.api, ['api/server.ts']),
  layer(['temporal/**/*.ts'], LAYERS.temporal, ['temporal/worker.ts']),
  layer(['workflows/**/*.ts'], LAYERS.workflows),
  layer(['activities/**/*.ts'], LAYERS.activities),
  layer(['src/**/*.ts'], LAYERS.src, ['src/egress/**', 'src/relay/platforms/http.ts']),
  layer(
    ['src/relay/**/*.ts'],
    [...LAYERS.src, deny(up('sign'), 'relay and sign never import each other.')],
    ['src/relay/platforms/http.ts'],
  ),
  layer(
    ['src/webhooks/**/*.ts'],
    [...LAYERS.src, deny(up('relay', 'sign'), 'webhooks serves both and knows neither.')],
  ),
  layer(['src/sign/**/*.ts'], [...LAYERS.src, deny(up('relay'), 'relay and sign never import each other.')]),
  {
    files: ['api/server.ts', 'temporal/worker.ts', 'src/db/run-migrations.ts', 'temporal/ops.ts'],
    rules: { 'no-restricted-properties': 'off' },
  },
  { files: ['*.config.js'], rules: { 'no-restricted-syntax': 'off' } },
  { files: ['test/**'], rules: { '@typescript-eslint/no-non-null-assertion': 'off' } },
)
