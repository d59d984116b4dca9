//! What `thrice.toml` says, and what it leaves to defaults.

use thrice_core::duration::HumanDuration;
use thrice_pipeline::places::line_of;

use super::Setting;
use crate::project::{DatabaseChoice, FILE, Project};

pub(super) fn settings(project: &Project) -> Vec<Setting> {
    let place = |path: &[&str]| {
        line_of(&project.text, path).map_or_else(|| "default".to_owned(), |line| format!("{FILE}:{line}"))
    };
    let mut settings = vec![
        Setting::new("project.folder", project.root.display().to_string(), format!("the nearest folder with a {FILE}")),
        Setting::new("project.name", project.name.clone(), place(&["project", "name"])),
        match &project.time_zone {
            Some(zone) => Setting::new("project.time_zone", zone.clone(), place(&["project", "time_zone"])),
            None => Setting::new("project.time_zone", "none", "nothing: every pipeline names its own"),
        },
    ];
    settings.push(match &project.database {
        DatabaseChoice::Env(name) => Setting::new("database.url_env", name.clone(), place(&["database", "url_env"])),
        DatabaseChoice::Local => Setting::new("database.mode", "local", place(&["database", "mode"])),
        DatabaseChoice::Unsaid => Setting::new("database.mode", "none", "nothing"),
    });
    let ttl = HumanDuration::from_seconds(project.lease_ttl.as_secs());
    settings.push(Setting::new("lease.ttl", ttl.to_string(), place(&["lease", "ttl"])));
    settings
}
