-- Files of an organisation, once each: the same bytes are the same asset (relay.md, Media asset).

create table media (
  id              text primary key,
  organisation_id text not null references organisations,
  kind            text not null check (kind in ('image', 'video', 'audio')),
  content_type    text not null,
  bytes           bigint not null,
  sha256          bytea not null,
  width           int,
  height          int,
  duration_ms     int,
  alt             text,
  filename        text not null,
  -- its key in the blob store
  blob            text not null unique,
  created_at      timestamptz not null default now(),
  unique (organisation_id, sha256)
);
create index media_of_organisation on media (organisation_id, id desc);

-- Files that no asset refers to: being written, or let go of. The sweep takes away what is still here at its time, so no crash leaves a file behind.
create table loose_blobs (
  blob      text primary key,
  doomed_at timestamptz not null
);
create index loose_blobs_doomed on loose_blobs (doomed_at);
