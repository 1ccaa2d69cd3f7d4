import { z } from 'zod'
import * as repository from '../../src/audit/repository.js'
import { AuditAction, AuditEntry } from '../../src/audit/schema.js'
import { cursorParameter, inOrder, limitParameter, NOT_IN_ORDER } from '../../src/db/page.js'
import { plainText } from '../../src/validation.js'
import { route } from '../http/route.js'

export const listAudit = route({
  method: 'get',
  path: '/v1/org/audit',
  summary: 'Who changed what, newest first',
  additive: true,
  scope: 'admin',
  query: z
    .strictObject({
      action: AuditAction.optional(),
      actor: plainText({ max: 255 }).optional(),
      from: z.iso.datetime({ offset: true }).optional(),
      to: z.iso.datetime({ offset: true }).optional(),
      limit: limitParameter({ max: 100, usual: 25 }),
      cursor: cursorParameter('aud'),
    })
    .refine(inOrder, NOT_IN_ORDER),
  responds: { status: 200, data: z.array(AuditEntry), pages: true },
  handle: ({ tx, caller, query }) => repository.listAudit(tx, caller.organisationId, query),
})
