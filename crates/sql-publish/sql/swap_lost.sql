-- What stands on one partition alone and would go with it: a new partition does not get it. One row each.
-- $1 relation oid of the partition
select 'the trigger ' || quote_ident(t.tgname) as what
  from pg_catalog.pg_trigger t where t.tgrelid = $1::oid and not t.tgisinternal and t.tgparentid = 0
union all
select 'the rule ' || quote_ident(r.rulename) from pg_catalog.pg_rewrite r where r.ev_class = $1::oid
union all
select 'row security' from pg_catalog.pg_class c where c.oid = $1::oid and (c.relrowsecurity or c.relforcerowsecurity)
union all
select 'the policy ' || quote_ident(p.polname) from pg_catalog.pg_policy p where p.polrelid = $1::oid
union all
select 'the extended statistics ' || quote_ident(s.stxname) from pg_catalog.pg_statistic_ext s where s.stxrelid = $1::oid
union all
select 'a security label' where exists (
  select from pg_catalog.pg_seclabel l where l.classoid = 'pg_catalog.pg_class'::regclass and l.objoid = $1::oid)
union all
select 'the sequence ' || format('%I.%I', n.nspname, s.relname)                    -- owned by a column: dropped with the table
  from pg_catalog.pg_depend d
  join pg_catalog.pg_class s on s.oid = d.objid and s.relkind = 'S'
  join pg_catalog.pg_namespace n on n.oid = s.relnamespace
 where d.classid = 'pg_catalog.pg_class'::regclass and d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid = $1::oid
   and d.deptype in ('a', 'i')
union all
select 'the replica identity' from pg_catalog.pg_class c where c.oid = $1::oid and c.relreplident <> 'd'
union all
select pg_describe_object(d.classid, d.objid, d.objsubid)                          -- views, functions, foreign keys of others, columns of its row type
  from (select distinct d.classid, d.objid, d.objsubid from pg_catalog.pg_depend d
         where d.deptype = 'n'
           and (d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid = $1::oid
             or d.refclassid = 'pg_catalog.pg_type'::regclass
                and d.refobjid in (select c.reltype from pg_catalog.pg_class c where c.oid = $1::oid
                                   union all select t.typarray from pg_catalog.pg_class c join pg_catalog.pg_type t on t.oid = c.reltype where c.oid = $1::oid))
           and not (d.classid = 'pg_catalog.pg_constraint'::regclass
                    and exists (select from pg_catalog.pg_constraint k where k.oid = d.objid and k.conrelid = $1::oid))
           and not (d.classid = 'pg_catalog.pg_attrdef'::regclass
                    and exists (select from pg_catalog.pg_attrdef a where a.oid = d.objid and a.adrelid = $1::oid))
           and not (d.classid = 'pg_catalog.pg_trigger'::regclass
                    and exists (select from pg_catalog.pg_trigger t where t.oid = d.objid and t.tgrelid = $1::oid))) d
 order by 1
