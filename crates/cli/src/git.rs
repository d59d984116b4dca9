//! The commit that a project's files belong to, read without git: the ledger keeps it beside each code hash.

use std::path::Path;

/// The commit that is checked out where `root` lies, if that is a git repository. Whether files were changed since is
/// not looked at: the code hash tells what ran.
pub(crate) fn revision(root: &Path) -> Option<String> {
    let git = root.ancestors().map(|folder| folder.join(".git")).find(|path| path.is_dir())?;
    let read = |path: &str| std::fs::read_to_string(git.join(path)).ok();
    let head = read("HEAD")?;
    let Some(branch) = head.trim().strip_prefix("ref: ") else { return commit(&head) };
    let packed = || {
        let refs = read("packed-refs")?;
        refs.lines().find_map(|line| line.strip_suffix(branch)?.strip_suffix(' ').map(ToOwned::to_owned))
    };
    commit(&read(branch).or_else(packed)?)
}

fn commit(text: &str) -> Option<String> {
    let text = text.trim();
    (text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branch_packed_branch_detached_and_no_repository() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("deep/project");
        let git = folder.path().join(".git");
        std::fs::create_dir_all(&root).unwrap();
        std::fs::create_dir_all(git.join("refs/heads")).unwrap();
        let (one, two) = ("1".repeat(40), "2".repeat(40));
        assert_eq!(revision(&root), None);
        std::fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::write(git.join("packed-refs"), format!("# pack-refs\n{two} refs/heads/main\n")).unwrap();
        assert_eq!(revision(&root), Some(two));
        std::fs::write(git.join("refs/heads/main"), format!("{one}\n")).unwrap();
        assert_eq!(revision(&root), Some(one.clone()));
        std::fs::write(git.join("HEAD"), &one).unwrap();
        assert_eq!(revision(&root), Some(one));
        std::fs::write(git.join("HEAD"), "ref: refs/heads/new\n").unwrap();
        assert_eq!(revision(&root), None);
    }
}
