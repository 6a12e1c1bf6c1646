//! A statement in the words of both databases.
//!
//! One statement, one file. Where both databases speak it, it stands in `sql/shared`; where they differ, two files of
//! the same name stand side by side in `sql/postgres` and `sql/sqlite`.

use std::sync::LazyLock;

/// A statement as each database takes it.
#[derive(Debug)]
pub(crate) struct Statement {
    postgres: &'static str,
    sqlite: LazyLock<String, SqliteText>,
}

type SqliteText = fn() -> String;

impl Statement {
    /// Of two texts. Use [`sql!`], which finds them.
    pub(crate) const fn new(postgres: &'static str, sqlite: SqliteText) -> Self {
        Self {
            postgres,
            sqlite: LazyLock::new(sqlite),
        }
    }

    pub(super) fn postgres(&self) -> &'static str {
        self.postgres
    }

    pub(super) fn sqlite(&'static self) -> &'static str {
        &self.sqlite
    }
}

/// A shared statement in the words of SQLite: it has no schemas, and `now()` is microseconds since 1970.
///
/// Milliseconds are as fine as its clock is, so that times compare with those that the tables put in by default.
pub fn in_sqlite(shared: &str) -> String {
    shared
        .replace("aftercommit.", "")
        .replace("now()", "(cast(unixepoch('subsec') * 1000 as integer) * 1000)")
}

/// The statement of this name: `sql!("fetch")` from two files, `sql!(shared "leases")` from one.
macro_rules! sql {
    (shared $name:literal) => {{
        const TEXT: &str = include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/src/store/sql/shared/",
            $name,
            ".sql"
        ));
        static STATEMENT: $crate::store::database::Statement =
            $crate::store::database::Statement::new(TEXT, || $crate::store::database::in_sqlite(TEXT));
        &STATEMENT
    }};
    ($name:literal) => {{
        const TEXT: &str = include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/src/store/sql/sqlite/",
            $name,
            ".sql"
        ));
        static STATEMENT: $crate::store::database::Statement = $crate::store::database::Statement::new(
            include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/src/store/sql/postgres/",
                $name,
                ".sql"
            )),
            || $crate::store::database::in_sqlite(TEXT),
        );
        &STATEMENT
    }};
}
pub(crate) use sql;
