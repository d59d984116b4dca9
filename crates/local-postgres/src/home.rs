//! Where a cluster lives: under the project, or where another user may go in; and where its socket is.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::binaries::Surroundings;
use crate::error::{LocalPostgresError, io};
use crate::server_user::ServerUser;

/// Longest path of a socket: `sun_path` has 108 bytes, PostgreSQL appends a lock file's ending.
const MOST_SOCKET_BYTES: usize = 103;

/// A short name for a path, the same in every process.
pub(crate) fn hash_of(path: &Path) -> String {
    // FNV-1a: a name, not a secret
    let hash = path
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}

/// The folder outside the project, for a project that the server's user cannot reach.
pub(crate) fn outside(pointer: &Path) -> PathBuf {
    PathBuf::from("/var/lib/thrice").join(hash_of(pointer))
}

/// The folder for the cluster's files; `pointer` is the project's own folder for it.
pub(crate) fn cluster_folder(pointer: &Path, user: &ServerUser) -> Result<PathBuf, LocalPostgresError> {
    if user.closed_parent(pointer).is_none() {
        return Ok(pointer.to_path_buf());
    }
    let other = outside(pointer);
    if let Some(closed) = user.closed_parent(Path::new("/var/lib")) {
        return Err(LocalPostgresError::NotReachable { path: closed, user: user.name().to_owned() });
    }
    fs::create_dir_all("/var/lib/thrice").map_err(io("cannot make", "/var/lib/thrice"))?;
    fs::set_permissions("/var/lib/thrice", fs::Permissions::from_mode(0o711))
        .map_err(io("cannot open", "/var/lib/thrice"))?;
    private_folder(&other, user)?;
    Ok(other)
}

/// The folder for the socket: inside the cluster's, or a short one where that path is too long for a socket.
pub(crate) fn socket_folder(
    cluster: &Path,
    port: u16,
    surroundings: &Surroundings,
    user: &ServerUser,
) -> Result<PathBuf, LocalPostgresError> {
    let inside = cluster.join("socket");
    let fits = |folder: &Path| folder.join(format!(".s.PGSQL.{port}")).as_os_str().len() <= MOST_SOCKET_BYTES;
    if fits(&inside) {
        private_folder(&inside, user)?;
        return Ok(inside);
    }
    let name = format!("thrice-{}", hash_of(cluster));
    let short = match surroundings.runtime_dir.as_ref().filter(|_| *user == ServerUser::Same) {
        Some(runtime) if fits(&runtime.join(&name)) => runtime.join(&name),
        _ => PathBuf::from("/tmp").join(&name),
    };
    private_folder(&short, user)?;
    Ok(short)
}

/// Makes a folder of mode 0700 for the server's user, or checks the one that is there: no link, and the right owner.
pub(crate) fn private_folder(path: &Path, user: &ServerUser) -> Result<(), LocalPostgresError> {
    match fs::symlink_metadata(path) {
        Ok(data) => {
            let own = fs::metadata("/proc/self").map(|data| data.uid()).unwrap_or_default();
            let owner = match user {
                ServerUser::Same => data.uid() == own,
                ServerUser::Other { uid, .. } => data.uid() == *uid || data.uid() == 0,
            };
            if !data.is_dir() || !owner {
                let source = std::io::Error::other("it is a link, no folder, or somebody else's");
                return Err(LocalPostgresError::Io { what: "cannot use", path: path.to_path_buf(), source });
            }
        }
        Err(_) => {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(io("cannot make", path))?;
        }
    }
    user.give(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(io("cannot close", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_path_that_is_too_long_moves_to_a_short_folder() {
        let base = tempfile::tempdir().unwrap();
        let user = ServerUser::of_process().unwrap();
        let none = Surroundings::default();
        let long = base.path().join("x".repeat(90));
        let folder = socket_folder(&long, 54321, &none, &user).unwrap();
        assert_eq!(folder.parent(), Some(Path::new("/tmp")));
        assert_eq!(folder.file_name().unwrap().to_str().unwrap(), format!("thrice-{}", hash_of(&long)));
        fs::remove_dir(&folder).unwrap();
        let short = socket_folder(base.path(), 5432, &none, &user).unwrap();
        assert!(short.starts_with(base.path()));
    }

    #[test]
    fn a_link_in_place_of_a_private_folder_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let link = base.path().join("link");
        std::os::unix::fs::symlink("/tmp", &link).unwrap();
        assert!(private_folder(&link, &ServerUser::of_process().unwrap()).is_err());
    }
}
