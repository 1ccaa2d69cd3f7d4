export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/real/'],
  modulePathIgnorePatterns: ['<rootDir>/test/real/node_modules'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'es6' } },
    ],
  },
  // Only an end for what hangs: each wait inside a test has its own, and a busy machine is no failure.
  testTimeout: 240_000,
  // Two cores: one for the servers, one and a bit for the tests.
  maxWorkers: 2,
  maxConcurrency: 4,
}
