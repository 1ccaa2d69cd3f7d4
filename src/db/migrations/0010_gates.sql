-- What holds a delivery back before it is claimed: an operator's pause of a platform, and limits that platforms told us of.

create table paused_platforms (
  platform text primary key,
  reason   text not null,
  since    timestamptz not null default now()
);

-- The advisory lock of a platform's pause: claims share it, whoever pauses or resumes has it alone.
create function platform_gate(platform text) returns bigint language sql immutable as $$
  select hashtextextended('platform/' || platform, 0)
$$;

-- Asked inside the claim. Volatile, so that it reads what was committed before it got the lock and not what the claim's own statement began with:
-- nothing is claimed after a pause has committed, and nobody starts to wait for a pause that was lifted.
create function platform_open(name text) returns boolean language plpgsql volatile as $$
begin
  perform pg_advisory_xact_lock_shared(platform_gate(name));
  return not exists (select from paused_platforms p where p.platform = name);
end $$;

-- Found again, batch by batch, when the pause lifts.
create index deliveries_paused on deliveries (platform, id)
  where status = 'pending' and waiting_for ->> 'code' = 'publishing_paused';

-- Nothing is called in this scope (a connection's id, or `app/` and a platform) before `until`. Expires by itself.
create table learned_limits (
  scope text primary key,
  until timestamptz not null
);
