-- What Temporal must do next, written in the transaction that decided it. A line is deleted once carried out;
-- `next_try_at` is also its lease while a process works on it.

create table outbox (
  id          bigint generated always as identity primary key,
  command     text not null,
  workflow_id text not null,
  args        jsonb not null,
  tries       int not null default 0,
  next_try_at timestamptz not null default now(),
  last_error  text,
  created_at  timestamptz not null default now()
);
create index outbox_due on outbox (next_try_at, id);
create index outbox_of_workflow on outbox (workflow_id);
