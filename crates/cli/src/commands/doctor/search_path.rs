//! Who else may create objects in the schemas that a pipeline's SQL looks through: a function of theirs could take the
//! place of the one that is meant.

use std::collections::BTreeSet;

use thrice_connect::DataConnection;
use thrice_core::code::ErrorCode;
use thrice_core::identifier::Identifier;

use super::Patient;
use super::check::Report;

/// Roles that may create in the schemas and are neither their owner, nor this role, nor a superuser. A schema without
/// a list of privileges belongs to its owner alone.
const OTHERS: &str = "select n.nspname::pg_catalog.text, coalesce(r.rolname::pg_catalog.text, 'public') \
    from pg_catalog.pg_namespace n \
    cross join lateral pg_catalog.aclexplode(n.nspacl) a \
    left join pg_catalog.pg_roles r on r.oid = a.grantee \
    where (n.nspname = any ($1::pg_catalog.text[]) or n.nspname = any (pg_catalog.current_schemas(false))) \
      and a.privilege_type = 'CREATE' and a.grantee <> n.nspowner \
      and (a.grantee = 0 or r.oid is not null and not r.rolsuper and r.rolname <> current_user) \
    order by 1, 2";

pub(super) async fn check(patient: &Patient<'_>, connection: &DataConnection, report: &mut Report) {
    let pipelines = patient.project.into_iter().flat_map(crate::project::Project::readable);
    let named: BTreeSet<String> = pipelines
        .filter_map(|loaded| loaded.job.session.search_path.as_ref())
        .flatten()
        .map(|schema: &Identifier| schema.as_str().to_owned())
        .collect();
    let named: Vec<String> = named.into_iter().collect();
    let rows = match connection.client.query(OTHERS, &[&named]).await {
        Ok(rows) => rows,
        Err(error) => return report.unseen("search_path", "the search path", &error),
    };
    for row in &rows {
        let (schema, grantee): (String, String) = (row.get(0), row.get(1));
        let who = if grantee == "public" { "everybody".to_owned() } else { format!("role {grantee}") };
        let (schema_name, grantee) = (quoted(&schema), if grantee == "public" { grantee } else { quoted(&grantee) });
        report.warn(
            "search_path",
            ErrorCode::OpenSearchPath,
            format!("schema {schema} is on the search path, and {who} may create functions in it"),
            format!("revoke create on schema {schema_name} from {grantee};"),
        );
    }
    if rows.is_empty() {
        report.ok("search_path", "nobody else may create objects on the search path");
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
