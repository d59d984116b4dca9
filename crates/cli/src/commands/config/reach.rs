//! How the database is reached: the parts of the connection, as every other command reads them.

use thrice_connect::{ConnectionSettings, Sources};

use super::Setting;
use crate::args::Global;
use crate::fault::Failed;
use crate::project::{DatabaseChoice, Project};

/// The parts, and what is wrong with them. What is wrong does not hide the other settings.
pub(super) fn settings(global: &Global, project: Option<&Project>) -> (Vec<Setting>, Option<Failed>) {
    let url_env = match project.map(|project| &project.database) {
        Some(DatabaseChoice::Env(name)) => Some(name.clone()),
        Some(DatabaseChoice::Local | DatabaseChoice::Unsaid) | None => None,
    };
    let (sources, warnings) = Sources::of_process(global.database_url.clone(), url_env);
    let mut settings: Vec<Setting> = Vec::new();
    let mut wrong = None;
    match ConnectionSettings::resolve_parts(&sources) {
        Ok(Some((resolved, origin, parts))) => {
            settings.push(Setting::new("database.url", resolved.to_string(), format!("{origin}, which decides")));
            settings.extend(
                parts
                    .into_iter()
                    .map(|part| Setting::new(format!("database.{}", part.name), part.value, part.origin.to_string())),
            );
        }
        Ok(None) if project.is_some_and(|project| project.database == DatabaseChoice::Local) => {
            let what = "the private PostgreSQL of the project, in .thrice/pg";
            settings.push(Setting::new("database.url", what, "database.mode; no flag or variable names another"));
        }
        Ok(None) => {
            settings.push(Setting::new(
                "database.url",
                "none",
                "nothing: no flag, variable or thrice.toml names a database",
            ));
        }
        Err(error) => {
            settings.push(Setting::new("database.url", "unusable", error.code()));
            wrong = Some(Failed::from(error));
        }
    }
    settings.push(passfile(&sources, warnings.first()));
    (settings, wrong)
}

/// Where passwords are looked for. Whether one of them was taken stands with the password.
fn passfile(sources: &Sources, warning: Option<&String>) -> Setting {
    let path = sources.pgpass_path.as_deref().unwrap_or("none");
    let value = match (&sources.pgpass, warning) {
        (_, Some(warning)) => warning.clone(),
        (Some(_), None) => path.to_owned(),
        (None, None) => format!("{path} (not there)"),
    };
    let named = std::env::var("PGPASSFILE").is_ok_and(|path| !path.is_empty());
    Setting::new("database.passfile", value, if named { "environment variable PGPASSFILE" } else { "default" })
}
