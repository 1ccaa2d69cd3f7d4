-- Who did what, written in the transaction of the action. Rows are chained afterwards, so that writers of one organisation do not wait for each other:
-- `seq`, `prev_hash` and `hash` are filled in once, and nothing else is ever changed.

create table audit_log (
  id              text primary key,
  -- Null: the operator's own. No reference: the log outlives what it tells of, and an insert locks nothing.
  organisation_id text,
  at              timestamptz not null default now(),
  actor           jsonb not null,
  action          text not null,
  target          jsonb not null,
  request_id      text,
  ip              text,
  seq             bigint,
  prev_hash       bytea,
  hash            bytea,
  check ((seq is null) = (hash is null) and (hash is null) = (prev_hash is null))
);
create index audit_log_of_organisation on audit_log (organisation_id, id desc);
create unique index audit_log_chain on audit_log (coalesce(organisation_id, ''), seq) where seq is not null;
create index audit_log_unchained on audit_log (id) where seq is null;

create function refuse_audit_change() returns trigger language plpgsql as $$
declare
  chain constant text[] := array['seq', 'prev_hash', 'hash'];
begin
  if tg_op = 'UPDATE' and old.seq is null and new.seq is not null and to_jsonb(old) - chain = to_jsonb(new) - chain then
    return new;
  end if;
  raise exception 'audit_log is append-only';
end $$;

create trigger audit_log_is_append_only before update or delete on audit_log
  for each row execute function refuse_audit_change();
create trigger audit_log_is_not_emptied before truncate on audit_log
  for each statement execute function refuse_change();
