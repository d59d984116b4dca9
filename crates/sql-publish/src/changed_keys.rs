//! The read-back of changes: each changed key stands in the target once, in the state that was given or a newer one.

use crate::{
    checksum::Content,
    error::{ErrorKind, PublishError},
    session::get,
    staging::Staged,
    steps::{Answer, one_row},
};

/// The short phrase for errors and traces.
pub(crate) const READ: &str = "read the changed keys back";

/// The staged changes, where the target has each of them.
pub(crate) fn are_there(staged: &Staged, answer: Answer) -> Result<Content, PublishError> {
    let row = one_row(READ, answer.rows)?;
    let count = |at| get::<i64>(&row, at);
    let (rows, keys, found, there) = (count(0)?, count(1)?, count(2)?, count(3)?);
    if rows != staged.content.rows {
        return Err(PublishError::new(READ, ErrorKind::StagingNotWhole { relation: staged.relation.clone() }));
    }
    if found != keys || there != keys {
        // two rows of one key are as wrong as none
        let rows = if found == keys { there } else { found };
        return Err(PublishError::new(READ, ErrorKind::ReadBackDiffers { rows, staged: keys }));
    }
    Ok(staged.content.clone())
}
