//! Each pipeline against the server: its target examined and its query described, as `lint --db` does it, and the
//! query planned, which tells what the role may not read.

use thrice_core::code::ErrorCode;
use thrice_runner::{Examiner, NotPrepared};
use thrice_sql_publish::target::Target;
use thrice_sql_publish::{Finding, access};

use super::Patient;
use super::check::Report;
use crate::fault::Fault;
use crate::project::{Loaded, Project};

/// Hands out the pipelines whose targets fit.
pub(super) async fn check<'a>(patient: &Patient<'a>, report: &mut Report) -> Vec<(&'a Loaded, Target)> {
    let mut examiner = Examiner::new(patient.database.settings.clone());
    let mut fit = Vec::new();
    for loaded in patient.project.into_iter().flat_map(Project::readable) {
        let name = &loaded.job.name;
        let Some(partition) = loaded.first() else { continue };
        let (grants, not_planned) = match missing_grants(patient, loaded).await {
            Ok(grants) => (grants, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        for finding in &grants {
            report.fault("source_privileges", &Fault::of_finding(finding), name);
        }
        match examiner.examine(&loaded.job, &partition, &patient.stop.token).await {
            Ok(fitting) => {
                for finding in &fitting.warnings {
                    report.fault("target", &Fault::of_finding(finding), name);
                }
                let checks =
                    examiner.examine_checks(&loaded.job, &partition, &fitting.target, &patient.stop.token).await;
                let checks_fit = match checks {
                    Ok(missing) => {
                        for finding in &missing {
                            report.fault("source_privileges", &Fault::of_finding(finding), name);
                        }
                        missing.is_empty()
                    }
                    Err(error) => {
                        for fault in &loaded.placed(error).0 {
                            report.fault("checks", fault, name);
                        }
                        false
                    }
                };
                match not_planned {
                    Some(why) => {
                        report.skipped("source_privileges", format!("{name}: the query was not planned: {why}"));
                    }
                    None if grants.is_empty() && fitting.warnings.is_empty() && checks_fit => {
                        let table = loaded.job.target.readable();
                        report.ok("target", format!("{name}: the query fits {table}, and the role may do both"));
                    }
                    None => {}
                }
                fit.push((loaded, fitting.target));
            }
            // what the grants say is said already, and more exactly
            Err(NotPrepared::Problem(problem)) if problem.code == ErrorCode::PrivilegeMissing && !grants.is_empty() => {
            }
            Err(error) => {
                for fault in &loaded.placed(error).0 {
                    let id = if fault.code == ErrorCode::PrivilegeMissing { "target_privileges" } else { "target" };
                    report.fault(id, fault, name);
                }
            }
        }
    }
    fit
}

/// The grants that the query lacks, or why that is not known.
async fn missing_grants(patient: &Patient<'_>, loaded: &Loaded) -> Result<Vec<Finding>, String> {
    let Some(partition) = loaded.first() else { return Ok(Vec::new()) };
    let job = &loaded.job;
    let mut connection =
        thrice_connect::connect(&patient.database.settings).await.map_err(|error| error.what().to_owned())?;
    let (query, timeouts) = (job.query_for(&partition), job.limits.checking());
    let found =
        access::missing_grants(&mut connection.client, &query, &job.session, &timeouts, &patient.stop.token).await;
    connection.close(std::time::Duration::from_secs(2)).await;
    found.map_err(|error| error.message())
}
