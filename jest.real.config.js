import base from './jest.config.js'

/** The tests that need the servers of test/real; see `npm run test:real`. */
export default {
  ...base,
  roots: ['<rootDir>/test/real'],
  testPathIgnorePatterns: ['/node_modules/'],
}
