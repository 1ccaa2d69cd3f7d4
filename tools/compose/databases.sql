-- The roles and databases of the two programs that keep data in PostgreSQL. Run at every start as the superuser: it makes what is missing,
-- sets the passwords to those of .env, and takes nothing away.

\getenv relay_password RELAY_DB_PASSWORD
\getenv temporal_password TEMPORAL_DB_PASSWORD

select format('create role %I login', role)
from (values ('relay'), ('temporal')) as wanted (role)
where not exists (select from pg_roles where rolname = role)
\gexec

alter role relay password :'relay_password';
alter role temporal password :'temporal_password';

select format('create database %I owner %I', name, owner)
from (values ('relay', 'relay'), ('temporal', 'temporal'), ('temporal_visibility', 'temporal')) as wanted (name, owner)
where not exists (select from pg_database where datname = name)
\gexec

-- Neither program can enter the other's.
revoke connect, temporary on database relay, temporal, temporal_visibility from public;
