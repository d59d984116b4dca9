//! Brings schema `thrice` to the version of this program.

use std::borrow::Cow;

use sqlx::Connection as _;
use sqlx::migrate::{Migrate as _, MigrateError, Migrator};

use crate::error::{ErrorKind, LedgerError};
use crate::ledger::{Ledger, connect};

/// Where sqlx keeps what it has applied: inside our schema, not in the user's.
const APPLIED_TABLE: &str = "thrice._sqlx_migrations";
/// Any number that nobody else uses; it keeps two migrating processes apart until one has committed.
const MIGRATION_LOCK: i64 = 0x7468_7269_6365_0001;

static FILES: Migrator = sqlx::migrate!("./migrations");

/// How the ledger of a database stands to this program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigrationInfo {
    /// The newest migration the database has had; `None`: no ledger.
    pub current: Option<i64>,
    /// The newest migration that this program knows.
    pub known: i64,
    /// What [`Ledger::migrate`] would apply, by version and description.
    pub pending: Vec<(i64, String)>,
}

impl Ledger {
    /// Applies what is missing, all or nothing. Processes that migrate at the same time wait for one another and all succeed.
    ///
    /// # Errors
    /// [`ErrorKind::Ahead`] where the database had migrations that this program does not know, or others of the same number.
    pub async fn migrate(&self) -> Result<MigrationInfo, LedgerError> {
        if self.ensure_current().await.is_ok() {
            return self.migration_info().await; // so that a role that may not change the schema may ask
        }
        let mut connection = connect(&self.settings).await?;
        let mut transaction = connection.begin().await?;
        // Bound to the transaction, so that it cannot outlive its holder in a pooler.
        sqlx::query("select pg_advisory_xact_lock($1)").bind(MIGRATION_LOCK).execute(&mut *transaction).await?;
        let migrator = Migrator {
            migrations: Cow::Borrowed(&FILES.migrations),
            locking: false,
            table_name: Cow::Borrowed(APPLIED_TABLE),
            create_schemas: Cow::Borrowed(&[Cow::Borrowed("thrice")]),
            ..Migrator::DEFAULT
        };
        migrator.run_direct(None, &mut *transaction, false).await.map_err(of_migrate)?;
        transaction.commit().await?;
        connection.close().await?;
        self.migration_info().await
    }

    /// What the database has had, and what is missing.
    pub async fn migration_info(&self) -> Result<MigrationInfo, LedgerError> {
        let applied = self.applied().await?;
        let known: Vec<_> = FILES.iter().map(|file| (file.version, file.description.to_string())).collect();
        Ok(MigrationInfo {
            current: applied.last().map(|(version, _)| *version),
            known: known.last().map_or(0, |(version, _)| *version),
            pending: known.into_iter().filter(|(version, _)| !applied.iter().any(|(had, _)| had == version)).collect(),
        })
    }

    /// Refuses to work with a ledger that is not exactly of this program's version.
    ///
    /// # Errors
    /// [`ErrorKind::Behind`], [`ErrorKind::Ahead`].
    pub async fn ensure_current(&self) -> Result<(), LedgerError> {
        let applied = self.applied().await?;
        for file in FILES.iter() {
            match applied.iter().find(|(version, _)| *version == file.version) {
                None if applied.is_empty() => {
                    return Err(LedgerError::new(ErrorKind::Behind, "this database has no ledger yet"));
                }
                None => {
                    let what = format!("the ledger lacks migration {} ({})", file.version, file.description);
                    return Err(LedgerError::new(ErrorKind::Behind, what));
                }
                Some((_, checksum)) if **checksum != *file.checksum => {
                    let what = format!("migration {} of the ledger was made by another version", file.version);
                    return Err(LedgerError::new(ErrorKind::Ahead, what));
                }
                Some(_) => {}
            }
        }
        match applied.last() {
            Some((version, _)) if !FILES.version_exists(*version) => Err(LedgerError::new(
                ErrorKind::Ahead,
                format!("the ledger has had migration {version}, which this program does not know"),
            )),
            _ => Ok(()),
        }
    }

    async fn applied(&self) -> Result<Vec<(i64, Vec<u8>)>, LedgerError> {
        let mut connection = self.pool.acquire().await?;
        match connection.list_applied_migrations(APPLIED_TABLE).await {
            Ok(applied) => Ok(applied.into_iter().map(|m| (m.version, m.checksum.into_owned())).collect()),
            Err(error) => match of_migrate(error) {
                error if *error.kind() == ErrorKind::Behind => Ok(Vec::new()),
                error => Err(error),
            },
        }
    }
}

fn of_migrate(error: MigrateError) -> LedgerError {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the driver's own list; what is not told apart here reads as unreadable"
    )]
    match error {
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => error.into(),
        MigrateError::VersionMissing(version) => LedgerError::new(
            ErrorKind::Ahead,
            format!("the ledger has had migration {version}, which this program does not know"),
        ),
        MigrateError::VersionMismatch(version) => {
            LedgerError::new(ErrorKind::Ahead, format!("migration {version} of the ledger was made by another version"))
        }
        error => LedgerError::unreadable(error),
    }
}
