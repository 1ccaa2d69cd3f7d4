-- What media a post names, one row each: an asset, or an address that a worker fetches once for all deliveries of the post.

create table post_media (
  post_id      text not null references posts,
  -- the id of an asset, or the address
  ref          text not null,
  -- null: not fetched yet, or deleted since
  media_id     text references media on delete set null,
  -- why it will not be fetched any more
  problem      text,
  tries        int not null default 0,
  -- who fetches it has so long; after that another may
  leased_until timestamptz,
  primary key (post_id, ref)
);
create index post_media_of_asset on post_media (media_id) where media_id is not null;

alter table sandbox_requests add column media jsonb not null default '[]';
