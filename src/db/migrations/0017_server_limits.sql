-- What the server of an account allows, where servers of one platform differ; read when the account is connected.

alter table connections add column limits jsonb not null default '{}';
