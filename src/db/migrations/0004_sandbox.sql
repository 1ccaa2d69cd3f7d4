-- The sandbox plays a platform: these tables are its side of the wire, reached over HTTP only and on a connection of its own.

create table sandbox_accounts (
  id         text primary key,
  owner      text not null,
  name       text not null,
  timeline   text not null unique,
  -- SHA-256 of the token; an expired one still buys its successor
  token      bytea not null unique,
  expired    boolean not null default false,
  created_at timestamptz not null default now(),
  unique (owner, name)
);

-- Every publish request that reached it, in order. It never deduplicates: two accepted rows for one client key are a double post.
create table sandbox_requests (
  seq         bigint generated always as identity primary key,
  account_id  text not null references sandbox_accounts,
  client_key  text not null,
  text        text not null,
  outcome     text not null,
  post_id     text unique,
  received_at timestamptz not null default now()
);
create index sandbox_requests_by_key on sandbox_requests (account_id, client_key);
create index sandbox_requests_by_time on sandbox_requests (account_id, received_at);

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name;
end $$;

create trigger sandbox_requests_are_append_only before update or delete on sandbox_requests
  for each row execute function refuse_change();
