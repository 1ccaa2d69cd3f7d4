-- Drafts have no time yet, callers name posts in their own system, and a deleted connection leaves its deliveries behind.

alter table posts add column external_id text;
create index posts_by_external_id on posts (organisation_id, external_id) where external_id is not null;

alter table deliveries alter column due_at drop not null;
create index deliveries_of_organisation on deliveries (organisation_id, id desc);

alter table connections add column deleted_at timestamptz;
alter table connections drop constraint connections_organisation_id_platform_account_id_key;
create unique index one_connection_per_account on connections (organisation_id, platform, account_id) where deleted_at is null;
