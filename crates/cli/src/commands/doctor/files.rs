//! The project's files, which are told of also where no database is.

use std::path::Path;

use super::check::Report;
use crate::output::count;
use crate::project::Project;

/// Reads the project, if there is one, and reports what lint says of it.
pub(super) fn check(dir: &Path, report: &mut Report) -> Option<Project> {
    let project = match Project::load(dir) {
        Ok(project) => project,
        Err(failed) => {
            report.failed("files", &failed);
            return None;
        }
    };
    match project.findings(&[]) {
        Ok(findings) => {
            for fault in &findings {
                report.fault("files", fault, "");
            }
            if findings.is_empty() {
                let pipelines = count(i64::try_from(project.count()).unwrap_or(i64::MAX), "pipeline");
                report.ok("files", format!("thrice.toml, {pipelines}, nothing to say against them"));
            }
        }
        Err(failed) => report.failed("files", &failed),
    }
    Some(project)
}
