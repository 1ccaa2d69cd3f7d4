-- A post says more than a text, to each target what its overrides make of it, in a zone of its own; and goes out piece by piece.

alter table posts add column overrides jsonb not null default '{}';
alter table posts add column timezone text;
-- what concerns the whole post; those of a target are with its delivery
alter table posts add column warnings jsonb not null default '[]';

alter table deliveries add column overrides jsonb;
-- SHA-256 of what this target is to get, for the duplicate guard
alter table deliveries add column content_hash bytea;
create index deliveries_by_content on deliveries (connection_id, content_hash, created_at) where content_hash is not null;

-- how many pieces the platform has taken; on the row itself, as a claim that waited for it must see what it is now
alter table deliveries add column parts_taken int not null default 0;
-- what the adapter needs to reply to the piece
alter table delivery_parts add column reference jsonb;

alter table sandbox_requests add column title text;
alter table sandbox_requests add column link text;
alter table sandbox_requests add column tags text[] not null default '{}';
alter table sandbox_requests add column reply_to text;
