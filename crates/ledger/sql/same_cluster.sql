-- Does the server that answers hold the receipts, and can it be written to?
select not pg_is_in_recovery() as "writable!",
       coalesce((select system_identifier from thrice.meta) = (select system_identifier from pg_control_system()), false) as "same!"
