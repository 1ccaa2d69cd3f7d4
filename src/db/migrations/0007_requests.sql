-- What a request with an Idempotency-Key answered, kept 24 hours; how often a key has called in this minute; what a plan allows.

create table idempotency_keys (
  organisation_id text not null references organisations,
  key             text not null,
  fingerprint     bytea not null,
  status          int not null,
  body            text not null,
  created_at      timestamptz not null default now(),
  primary key (organisation_id, key)
);
create index idempotency_keys_by_age on idempotency_keys (created_at);

-- Unlogged: one write per request; a crash of PostgreSQL forgives at most one window.
create unlogged table rate_windows (
  key_id    text primary key,
  starts_at timestamptz not null,
  requests  int not null
);

alter table organisations add column plan text not null default 'scale';
alter table organisations add column limits_override jsonb not null default '{}';

-- A token that was traded stays good for one more trade until its successor is first used: the answer to a trade may be lost.
alter table sandbox_accounts add column previous_token bytea;
