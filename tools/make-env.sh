#!/bin/sh
# Writes .env beside docker-compose.yml: fresh secrets, and what the administrator may change. Needs nothing but a shell and its usual tools.
set -eu
umask 077

folder=$(cd "$(dirname "$0")/.." && pwd)
file=$folder/.env
draft=$folder/.env.$$

refuse() {
  echo "$1" >&2
  exit 1
}

random() { dd if=/dev/urandom bs="$1" count=1 2>/dev/null; }
# Hexadecimal, so that it stands in a URL as it is.
secret() { random 32 | od -An -v -tx1 | tr -d ' \n'; }

if [ -e "$file" ] || [ -L "$file" ]; then
  refuse "There is already a .env in $folder; its secrets belong to the data that was made with them, so it is kept as it is."
fi
trap 'rm -f "$draft"' EXIT
trap 'exit 1' HUP INT TERM

cat >"$draft" <<END
# Settings of docker-compose.yml, made by tools/make-env.sh. Keep a copy in a safe place and show it to nobody:
# without KEY_ENCRYPTION_KEYS the credentials in a backup of the database cannot be read.

# What containers, networks and volumes are named after. With another name Compose starts beside what is there, with no data.
COMPOSE_PROJECT_NAME=relay-and-sign

# Where callers reach the API; addresses in its answers begin with it. On the internet: https, and a proxy of yours before the port.
PUBLIC_ORIGIN=http://localhost:8080

# The port the API is published on.
# PORT=8080
# How many proxies of yours are before it, or their addresses: only their word about a caller's address counts.
# TRUST_PROXY=1
# A destination for trying things out, inside the product.
# SANDBOX_URL=http://api:8080
# LOG_LEVEL=info

# Passwords of PostgreSQL. After a change, docker compose up sets the second and third in the database; the first is set by hand.
POSTGRES_PASSWORD=$(secret)
RELAY_DB_PASSWORD=$(secret)
TEMPORAL_DB_PASSWORD=$(secret)

# Part of what API keys are hashed with. A change ends every key.
KEY_PEPPER=$(secret)

# What credentials in the database are encrypted under, id:base64 of 32 bytes, comma between. The first encrypts, all decrypt: a new one goes in front.
KEY_ENCRYPTION_KEYS=k1:$(random 32 | base64)

# Who reads and writes files. They may change at any time, with a restart.
S3_ACCESS_KEY_ID=$(random 10 | od -An -v -tx1 | tr -d ' \n')
S3_SECRET_ACCESS_KEY=$(secret)
END

# A tool that is missing would leave a secret short.
if [ "$(grep -cE '^[A-Z0-9_]+=[0-9a-f]{64}$' "$draft")" -ne 5 ] ||
  ! grep -qE '^S3_ACCESS_KEY_ID=[0-9a-f]{20}$' "$draft" ||
  ! grep -qE '^KEY_ENCRYPTION_KEYS=k1:[A-Za-z0-9+/]{43}=$' "$draft"; then
  refuse 'The secrets could not be made: this needs /dev/urandom, dd, od, tr and base64.'
fi

# In one step, and never over another file.
ln "$draft" "$file" || refuse 'Nothing was written.'
echo "Wrote $file with fresh secrets. Set PUBLIC_ORIGIN in it to where callers will reach the API."
