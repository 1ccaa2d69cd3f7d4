import type { Fragment, Sql } from '../db/client.js'

/** The arguments of a line that wakes a lane, from a row with `organisation_id` and the endpoint's id in the column given. */
export const laneArguments = (sql: Sql, endpointId: Fragment) =>
  sql`jsonb_build_object('endpointId', ${endpointId}, 'organisationId', organisation_id)`
