-- Who is told of events, and what became of telling them. A delivery is one event for one endpoint; its row is written with the event, and its id is
-- what a receiver knows repeats by.

create table webhook_endpoints (
  id                  text primary key,
  organisation_id     text not null references organisations,
  url                 text not null,
  -- {*}: every event
  events              text[] not null,
  description         text,
  enabled             boolean not null default true,
  -- sealed; both for the same place, as a rotation moves the one to the other. Null once the endpoint is deleted
  secret              text,
  secret_last4        text not null,
  previous_secret     text,
  previous_secret_expires_at timestamptz,
  created_at          timestamptz not null default now(),
  deleted_at          timestamptz,

  -- its health: the first failure since the last success, and how many there were
  failing_since       timestamptz,
  failed_attempts     int not null default 0,
  -- since when it is known to be bad for nothing: its last success, or when it was made, changed or switched on
  well_at             timestamptz not null default now(),
  -- whether it ever took anything: until then it is sent one at a time
  proven              boolean not null default false,
  -- nothing is sent before: the receiver asked for it
  held_until          timestamptz,
  -- the breaker is open: one probe at this time, then again
  probe_at            timestamptz,
  breaker_closed_at   timestamptz not null default now(),
  disabled_at         timestamptz,
  disabled_reason     text check (disabled_reason in ('switched_off', 'gone', 'failing')),
  -- the last time it was off: what happened then is sent by recover only
  off_from            timestamptz,
  off_until           timestamptz,
  poked_at            timestamptz
);
create index webhook_endpoints_of_organisation on webhook_endpoints (organisation_id) where deleted_at is null;

create table webhook_deliveries (
  id              text primary key,
  organisation_id text not null,
  -- No reference: an insert by every writer of an organisation would lock the row that each attempt updates.
  endpoint_id     text not null,
  event_id        text not null references events,
  type            text not null,
  status          text not null default 'pending' check (status in ('pending', 'succeeded', 'failed', 'held')),
  -- numbers the attempts for good; failures count toward the schedule and begin anew with a replay
  attempts        int not null default 0,
  failures        int not null default 0,
  -- of a pending one; while it is claimed, when the claim lapses
  due_at          timestamptz not null default now(),
  claimed_until   timestamptz,
  created_at      timestamptz not null default now(),
  settled_at      timestamptz
);
create index webhook_deliveries_due on webhook_deliveries (endpoint_id, due_at) where status = 'pending';
create index webhook_deliveries_of_endpoint on webhook_deliveries (endpoint_id, id desc);
create index webhook_deliveries_of_event on webhook_deliveries (event_id, endpoint_id);
create index webhook_deliveries_in_flight on webhook_deliveries (organisation_id) where claimed_until is not null;
create index webhook_deliveries_by_age on webhook_deliveries (created_at) where status <> 'pending';

-- Opened when the delivery is claimed, before a byte leaves; one without `succeeded` is under way, or its worker was lost.
create table webhook_attempts (
  delivery_id      text not null references webhook_deliveries on delete cascade,
  number           int not null,
  endpoint_id      text not null,
  at               timestamptz not null default now(),
  duration_ms      int,
  succeeded        boolean,
  http_status      int,
  error            text,
  response_excerpt text,
  primary key (delivery_id, number)
);
create index webhook_attempts_of_endpoint on webhook_attempts (endpoint_id, at);
create index webhook_attempts_by_age on webhook_attempts (at);

-- How an id of this moment begins behind its prefix.
create function id_time(at timestamptz) returns text language sql immutable as $$
  select lpad(to_hex(floor(extract(epoch from at) * 1000)::bigint), 12, '0')
$$;

-- An id as src/ids.ts makes it: a UUIDv7 (RFC 9562 5.7). How many rows are inserted beside an event, only the database knows.
create function new_id(prefix text) returns text language sql volatile as $$
  select prefix || '_' || id_time(clock_timestamp()) || '7' || substr(replace(gen_random_uuid()::text, '-', ''), 14)
$$;
