-- What happened, for webhooks to tell, and what counts toward a plan: both are written in the transaction that made it so.

create table events (
  id              text primary key,
  organisation_id text not null references organisations,
  type            text not null,
  data            jsonb not null,
  created_at      timestamptz not null default now()
);
create index events_of_organisation on events (organisation_id, id desc);

-- Months are UTC. Several rows per month, so that deliveries that settle at the same moment do not wait for each other; their sum counts.
create table usage (
  organisation_id text not null references organisations,
  month           date not null,
  shard           int not null,
  posts           int not null default 0,
  deliveries      int not null default 0,
  -- what was ever accepted as due in the month: never less than what is counted and open together, and read without counting rows
  accepted_posts      int not null default 0,
  accepted_deliveries int not null default 0,
  primary key (organisation_id, month, shard)
);

-- when the post counted toward usage: once, with its first success
alter table posts add column counted_at timestamptz;

-- what is accepted and not settled counts toward the month it is due in
create index posts_open on posts (organisation_id, coalesce(scheduled_at, created_at)) where settled_at is null and status <> 'draft';
create index deliveries_open on deliveries (organisation_id, due_at) where status in ('pending', 'processing') and due_at is not null;

-- whether the targets that were refused at acceptance have been told of: when the post is released
alter table posts add column refusals_told boolean not null default false;
