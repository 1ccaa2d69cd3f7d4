-- Organisations own everything. A key acts for exactly one of them and is stored only as a salted hash (relay.md, Authentication).

create table organisations (
  id         text primary key,
  name       text not null,
  timezone   text not null default 'UTC',
  created_at timestamptz not null default now()
);

create table api_keys (
  id              text primary key,
  organisation_id text not null references organisations,
  name            text not null,
  public_id       text not null unique,
  salt            bytea not null,
  digest          bytea not null,
  last4           text not null,
  scopes          text[] not null,
  created_at      timestamptz not null default now(),
  expires_at      timestamptz,
  revoked_at      timestamptz
);
