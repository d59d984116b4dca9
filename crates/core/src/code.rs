//! Every error code in one table: id, class and title.
//!
//! A code names one kind of fault for people, scripts and documentation; the class decides the exit code. Same input,
//! same code.

use std::fmt;

/// What kind of ending a code stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// A warning; the work goes on.
    Ok,
    /// Written wrongly by the caller.
    Usage,
    /// Wrong in project files, connection settings or privileges.
    Config,
    /// A policy or a guard says no.
    Refused,
    /// May work later without a change.
    Unavailable,
    /// The server failed the SQL for good.
    Sql,
    /// Checks failed, nothing was published.
    Checks,
    /// The outcome of a COMMIT is open.
    Unknown,
    /// Stopped from outside.
    Stopped,
    /// A fault in thrice.
    Bug,
}

impl ErrorClass {
    /// The word in `--json`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Usage => "usage",
            Self::Config => "config",
            Self::Refused => "refused",
            Self::Unavailable => "unavailable",
            Self::Sql => "sql",
            Self::Checks => "checks",
            Self::Unknown => "unknown",
            Self::Stopped => "stopped",
            Self::Bug => "bug",
        }
    }

    /// The exit code of a call that ends with a code of this class.
    pub const fn exit(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Bug => 1,
            Self::Usage | Self::Config => 2,
            Self::Checks => 4,
            Self::Refused => 5,
            Self::Unavailable => 7,
            Self::Sql => 8,
            Self::Unknown => 9,
            Self::Stopped => 130,
        }
    }
}

macro_rules! codes {
    ($($id:literal $variant:ident $class:ident $title:literal;)*) => {
        /// One code of the table. [`Display`](fmt::Display) writes its id.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum ErrorCode {
            $(#[doc = concat!($id, ": ", $title)] $variant,)*
        }

        impl ErrorCode {
            /// Every code, in order of its id.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The id that people look up, such as `TH0531`.
            pub const fn id(self) -> &'static str {
                match self { $(Self::$variant => $id,)* }
            }

            /// What kind of ending it stands for.
            pub const fn class(self) -> ErrorClass {
                match self { $(Self::$variant => ErrorClass::$class,)* }
            }

            /// One line that says what it is about.
            pub const fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)* }
            }
        }

        hand_on! { ($) $($id $variant $class $title;)* }
    };
}

macro_rules! hand_on {
    (($dollar:tt) $($table:tt)*) => {
        /// Hands the table to a macro that takes lines of `"TH0001" Variant Class "title";`, so that nothing that
        /// belongs to every code (its page, for one) can be forgotten: what is missing does not compile.
        #[macro_export]
        macro_rules! with_code_table {
            ($dollar callback:ident) => {
                $dollar callback! { $($table)* }
            };
        }
    };
}

codes! {
    "TH0001" Bug Bug "a fault in thrice itself";
    "TH0101" UnknownCommand Usage "unknown command";
    "TH0102" UnknownPipeline Usage "no such pipeline";
    "TH0103" BadArgument Usage "an argument is wrong";
    "TH0104" ArgumentsConflict Usage "arguments that exclude each other";
    "TH0105" OutputLost Usage "standard output cannot be written";
    "TH0110" BadKey Usage "not an interval key";
    "TH0111" OtherGrain Usage "a key of another grain";
    "TH0112" RangeBackwards Usage "the range runs backwards";
    "TH0113" RangeHalf Usage "one end of the range is missing";
    "TH0114" DotsRange Usage "a range written with dots";
    "TH0115" BeforeStart Refused "outside the pipeline's start and end";
    "TH0116" NotEnded Refused "the interval has not ended";
    "TH0117" NotDue Refused "the delay after the interval's end is not over";
    "TH0118" TooManyIntervals Usage "more intervals than one call takes";
    "TH0201" FileMissing Config "a project file is missing";
    "TH0202" FileEmpty Config "the file is empty";
    "TH0203" NotToml Config "the file is not TOML";
    "TH0204" NotUtf8 Config "the file is not UTF-8";
    "TH0205" UnknownKey Config "unknown key";
    "TH0206" UnknownStrategy Config "unknown strategy";
    "TH0207" MergeWithoutRows Config "merge does not say what happens to vanished rows";
    "TH0208" UnknownZone Config "not an IANA time zone";
    "TH0209" UnknownGrain Config "unknown grain";
    "TH0210" StartNotOnBoundary Config "start or end is not on an interval boundary";
    "TH0211" BadCron Config "cron expression cannot be used";
    "TH0212" BadDuration Config "not a duration";
    "TH0213" BadPercent Config "not a percentage";
    "TH0214" LatePolicyContradicts Config "the late-data policy contradicts itself";
    "TH0215" UnknownLane Config "unknown lane";
    "TH0216" DuplicateName Config "a name is used twice";
    "TH0217" TargetShared Config "two pipelines write one target";
    "TH0218" DependencyCycle Config "pipelines depend on each other in a circle";
    "TH0219" SecretInFile Config "a secret in a project file";
    "TH0220" OutsideProject Config "a path leads out of the project";
    "TH0221" BadName Config "not a usable SQL name";
    "TH0222" NewerFile Config "written for a newer thrice";
    "TH0223" FileTooLarge Config "the file is over 256 KiB";
    "TH0224" DateColumnUnderDay Config "the interval column's type does not fit the grain";
    "TH0225" CronBesideDate Config "cron boundaries beside a date column";
    "TH0226" NotBuilt Config "known, but not built in this version";
    "TH0227" BadValue Config "a value of the wrong type or range";
    "TH0228" KeyMissing Config "a required key is missing";
    "TH0301" NoStatement Config "the query is empty";
    "TH0302" SeveralStatements Config "more than one statement";
    "TH0303" NotASelect Config "not a SELECT";
    "TH0304" SelectIntoOrLock Config "SELECT INTO or a locking clause";
    "TH0305" NoIntervalPlaceholder Config "the query does not use the interval";
    "TH0306" UnknownPlaceholder Config "unknown placeholder";
    "TH0307" BetweenInterval Config "a condition takes the wrong bound of the interval along";
    "TH0308" WallClock Config "the query reads the wall clock";
    "TH0309" TemplateSyntax Config "template syntax in a query";
    "TH0310" Unclosed Config "a quote or comment is not closed";
    "TH0311" MayDiffer Ok "the result may differ from run to run";
    "TH0401" NothingConfigured Config "no database is configured";
    "TH0402" BadUrl Config "the connection settings cannot be read";
    "TH0403" Unreachable Unavailable "the server cannot be reached";
    "TH0404" LoginRefused Config "the server refused the login";
    "TH0405" DatabaseMissing Config "database or schema is missing";
    "TH0406" TlsFailed Refused "the connection cannot be made secure";
    "TH0407" ReadOnlyServer Unavailable "connected to a standby";
    "TH0408" ServerVersion Refused "the server's version is not supported";
    "TH0409" SuperuserRole Ok "the role is a superuser";
    "TH0410" PrivilegeMissing Config "a privilege is missing";
    "TH0411" LedgerVersion Refused "the ledger schema does not fit this binary";
    "TH0412" NoUniqueIndex Config "no unique index on the key";
    "TH0413" TargetKind Config "the target is not a table that can be published into";
    "TH0414" SwapDependants Refused "other objects depend on the table to be swapped";
    "TH0415" PoolerMode Ok "a pooler in transaction mode";
    "TH0416" OpenSearchPath Ok "others may create objects on the search path";
    "TH0417" TargetMissing Config "the target does not exist";
    "TH0418" PartitionMissing Config "the target has no partition for the interval";
    "TH0419" ColumnsDiffer Config "the query's columns do not fit the target";
    "TH0420" ServerExhausted Unavailable "the server ran out of disk, memory or connections";
    "TH0421" ChildrenWouldBeLost Config "deleting rows would delete or change rows of other tables";
    "TH0422" OtherCluster Refused "another database cluster answers";
    "TH0423" LocalServer Unavailable "the private PostgreSQL cannot be used";
    "TH0424" WeakSetting Ok "a server setting weakens a promise";
    "TH0425" ZoneDataDiffers Config "server and thrice disagree about a time zone";
    "TH0501" ReasonMissing Refused "a reason is needed";
    "TH0502" BadReason Usage "the reason is not 3 to 500 printable characters";
    "TH0503" NoConsent Refused "confirmation is needed";
    "TH0504" FullRefreshAlone Usage "full refresh stands by itself, with a reason";
    "TH0510" UnknownPlan Usage "no such plan";
    "TH0511" PlanExpired Refused "the plan has expired";
    "TH0512" PlanMoved Refused "the plan no longer fits the ledger";
    "TH0513" PlanCodeChanged Refused "the code has changed since the plan";
    "TH0514" AlreadyApplied Ok "the plan is applied already";
    "TH0515" AlreadyFinished Ok "the backfill is finished already";
    "TH0516" NoIntervals Refused "the pipeline has no intervals";
    "TH0520" NothingKept Refused "no old rows are kept";
    "TH0521" NewerPublish Refused "a newer publish exists";
    "TH0522" KeptRowsDiffer Refused "kept rows are not what the receipt says";
    "TH0523" NotSwept Unavailable "something could not be dropped";
    "TH0530" Closed Refused "the partition is closed";
    "TH0531" ExistingRows Refused "rows that no receipt accounts for";
    "TH0532" ThatIsABackfill Refused "too many published partitions for one call";
    "TH0533" HeldByWorker Unavailable "another worker has the partition";
    "TH0534" Fenced Unavailable "another worker took the partition over";
    "TH0535" EpochChanged Refused "grain or zone changed under published partitions";
    "TH0536" AdoptRefused Refused "the partition cannot be adopted";
    "TH0537" TargetChanged Refused "the target was changed under published partitions";
    "TH0538" EditedSinceReceipt Ok "rows that others changed since the receipt were replaced";
    "TH0539" OutOfOrder Refused "newer changes are published already";
    "TH0540" ShadowSchema Refused "no schema for shadow tables";
    "TH0541" IdempotencyKeyUsed Refused "the idempotency key was used with other arguments";
    "TH0550" OutcomeUnknown Unknown "the outcome of a COMMIT is still open";
    "TH0551" RequirementNotMet Refused "partitions are not as required";
    "TH0601" SqlFailed Sql "the server refused the query";
    "TH0602" ValueDoesNotFit Sql "a value or type does not fit the target";
    "TH0603" TimedOut Sql "a statement took longer than allowed";
    "TH0604" Retried Unavailable "transient failures until the retry budget was used up";
    "TH0605" ConstraintViolated Sql "a constraint of the target was violated";
    "TH0606" WrittenDiffers Sql "rows written are not the rows staged";
    "TH0607" LedgerStatement Bug "the ledger refused a statement of thrice";
    "TH0608" DamagedServer Sql "the server reports damaged data or files";
    "TH0701" RowsOutside Checks "rows outside the interval";
    "TH0702" EmptyResult Checks "the result is empty";
    "TH0703" DuplicateKeys Checks "duplicate or missing keys in the result";
    "TH0704" TooManyVanish Refused "more rows would vanish or change than allowed";
    "TH0705" CheckFailed Checks "a check failed";
    "TH0706" EmptyOverPublished Refused "an empty result over a published partition";
    "TH0801" RequestRefused Refused "a web request was refused";
    "TH0802" BadRequest Usage "a web request cannot be read";
    "TH0901" Stopped Stopped "stopped by a signal";
}

impl ErrorCode {
    /// The code with this id.
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.id().eq_ignore_ascii_case(id))
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_in_order() {
        assert!(ErrorCode::ALL.windows(2).all(|pair| pair[0].id() < pair[1].id()));
        assert!(ErrorCode::ALL.iter().all(|code| code.id().len() == 6 && code.id().starts_with("TH")));
    }

    #[test]
    fn an_id_finds_its_code() {
        assert_eq!(ErrorCode::from_id("th0531"), Some(ErrorCode::ExistingRows));
        assert_eq!(ErrorCode::from_id("TH9999"), None);
    }
}
