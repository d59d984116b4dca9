-- Does the role exist that holds what workers need?
select exists (select from pg_roles where rolname = 'thrice_worker') as "exists!"
