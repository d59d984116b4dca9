//! What is settled before the partitions of a pipeline are run, with the files of the project in view.

use thrice_core::code::ErrorCode;
use thrice_core::schedule::Partition;
use thrice_runner::{NotPrepared, Prepared, Runner};

use crate::commands::run::Lines;
use crate::fault::Failed;
use crate::output::Output;
use crate::project::{Loaded, Project};
use crate::signals::Stop;

/// Prepares a pipeline. A target that the ledger keeps for a pipeline whose files are gone, and which has published
/// nothing, goes to this one: the files were renamed.
///
/// `sample` stands in for the first partition where the pipeline has none.
pub(crate) async fn prepare(
    runner: &mut Runner,
    project: &Project,
    loaded: &Loaded,
    sample: &Partition,
    stop: &Stop,
    output: Output,
) -> Result<Prepared, Failed> {
    let mut lines = Lines { output, show: false };
    let first = loaded.first();
    let sample = first.as_ref().unwrap_or(sample);
    let prepared = Box::pin(runner.prepare(loaded.job.clone(), sample, &stop.token, &mut lines)).await;
    let shared = matches!(&prepared, Err(NotPrepared::Problem(problem)) if problem.code == ErrorCode::TargetShared);
    if !shared {
        return prepared.map_err(|error| loaded.placed(error));
    }
    let owner = runner.ledger().target_owner(&loaded.job.target.to_string()).await?;
    if let Some(owner) = owner.filter(|owner| !owner.published && project.is_gone(&owner.pipeline_name))
        && runner.ledger().rename_unpublished(&owner.pipeline_name, &loaded.job.name).await?
    {
        let (old, new) = (&owner.pipeline_name, &loaded.job.name);
        output.note(format!(
            "{new}: takes over the target of {old}, whose files are gone and which has published nothing"
        ));
        let again = Box::pin(runner.prepare(loaded.job.clone(), sample, &stop.token, &mut lines)).await;
        return again.map_err(|error| loaded.placed(error));
    }
    prepared.map_err(|error| loaded.placed(error))
}
