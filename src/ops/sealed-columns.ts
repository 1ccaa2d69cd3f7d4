import type { SealedColumn } from '../encryption.js'
import { CREDENTIALS_COLUMN } from '../relay/connections/repository.js'
import { SECRET_COLUMNS } from '../webhooks/endpoints/secret.js'

/** Every column of sealed values there is. */
export const SEALED_COLUMNS: readonly SealedColumn[] = [CREDENTIALS_COLUMN, ...SECRET_COLUMNS]
