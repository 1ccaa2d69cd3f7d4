-- Rows are the truth, workflows are the clock: everything that decides whether bytes may leave is in these tables.

create table connections (
  id               text primary key,
  organisation_id  text not null references organisations,
  platform         text not null,
  account_id       text not null,
  handle           text not null,
  display_name     text,
  avatar_url       text,
  status           text not null default 'active' check (status in ('active', 'reauth_required', 'disabled', 'revoked')),
  metadata         jsonb not null default '{}',
  credentials      text,
  token_expires_at timestamptz,
  last_verified_at timestamptz,
  last_error       jsonb,
  created_via      text not null check (created_via in ('api', 'oauth', 'connect_session')),
  created_at       timestamptz not null default now(),
  -- connecting the same account again replaces the credentials of the connection it already has
  unique (organisation_id, platform, account_id)
);

create table posts (
  id              text primary key,
  organisation_id text not null references organisations,
  status          text not null check (status in ('draft', 'pending_approval', 'scheduled', 'queued', 'publishing',
                                                  'published', 'partial', 'failed', 'cancelled')),
  content         jsonb not null,
  scheduled_at    timestamptz,
  created_by      jsonb not null,
  created_at      timestamptz not null default now(),
  updated_at      timestamptz not null default now(),
  settled_at      timestamptz
);
create index posts_of_organisation on posts (organisation_id, id desc);

create table deliveries (
  id              text primary key,
  organisation_id text not null references organisations,
  post_id         text not null references posts,
  connection_id   text not null,
  platform        text not null,
  handle          text not null,
  status          text not null default 'pending'
                  check (status in ('pending', 'processing', 'succeeded', 'failed', 'rejected', 'skipped', 'cancelled')),
  -- names the workflow run that may act; a run of an older generation is overtaken
  generation      int not null default 1,
  due_at          timestamptz not null,
  next_attempt_at timestamptz,
  waiting_for     jsonb,
  remote_id       text,
  remote_url      text,
  error_code      text,
  error           jsonb,
  poked_at        timestamptz,
  created_at      timestamptz not null default now(),
  started_at      timestamptz,
  settled_at      timestamptz,
  unique (post_id, connection_id)
);
create index deliveries_unsettled on deliveries (due_at) where status in ('pending', 'processing');

-- One row per piece of a delivery that the platform takes by itself (0 is the post). Its client key is chosen at the first
-- claim and kept for good, so that the platform can always be asked for exactly this piece.
create table delivery_parts (
  delivery_id text not null references deliveries,
  number      int not null,
  client_key  text not null,
  remote_id   text,
  remote_url  text,
  accepted_at timestamptz,
  primary key (delivery_id, number)
);

-- The ledger. `sent` is committed before the first byte leaves; what is neither `accepted` nor `refused` after it is looked
-- up at the platform and never sent again without a proof of absence.
create table attempts (
  delivery_id      text not null references deliveries,
  number           int not null,
  generation       int not null,
  part             int not null default 0,
  state            text not null check (state in ('intent', 'not_sent', 'sent', 'accepted', 'refused', 'unknown')),
  started_at       timestamptz not null default now(),
  sent_at          timestamptz,
  ended_at         timestamptz,
  http_status      int,
  error_code       text,
  platform_message text,
  remote_id        text,
  look_up          jsonb,
  primary key (delivery_id, number)
);
create unique index one_open_attempt on attempts (delivery_id) where state in ('intent', 'sent');
