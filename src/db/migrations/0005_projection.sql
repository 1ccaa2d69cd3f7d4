-- What lenient acceptance changed for a destination is kept with its delivery and shown in every answer.

alter table posts add column validation text not null default 'lenient' check (validation in ('strict', 'lenient'));
alter table deliveries add column warnings jsonb not null default '[]';
