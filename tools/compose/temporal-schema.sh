#!/bin/sh
# Brings both databases of Temporal to the schema of this image's version. Run at every start; does nothing where they have it.
# Where PostgreSQL is, and as whom, the tool reads from SQL_HOST, SQL_PORT, SQL_USER, SQL_PASSWORD and SQL_PLUGIN.
set -eu

bring_up_to_date() {
  temporal-sql-tool --database "$1" setup-schema --version 0.0
  temporal-sql-tool --database "$1" update-schema --schema-name "postgresql/v12/$2"
}

bring_up_to_date temporal temporal
bring_up_to_date temporal_visibility visibility
