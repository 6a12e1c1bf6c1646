//! A statement in the words of both databases.
//!
//! One statement, one file. Where both databases speak it, it stands in `sql/shared`; where they differ, two files of
//! the same name stand side by side in `sql/postgres` and `sql/sqlite`.

use std::sync::LazyLock;

/// A statement as each database takes it.
#[derive(Debug)]
pub(crate) struct Statement {
    postgres: Text,
    sqlite: Text,
}

type Text = LazyLock<String, fn() -> String>;

impl Statement {
    /// Of two texts. Use [`sql!`], which finds them.
    pub(crate) const fn new(postgres: fn() -> String, sqlite: fn() -> String) -> Self {
        Self {
            postgres: LazyLock::new(postgres),
            sqlite: LazyLock::new(sqlite),
        }
    }

    pub(super) fn postgres(&'static self) -> &'static str {
        &self.postgres
    }

    pub(super) fn sqlite(&'static self) -> &'static str {
        &self.sqlite
    }
}

/// A statement without the parts that are for a second try only, each from a line `-- again {` to a line `-- }`.
pub fn at_first(whole: &str) -> String {
    let mut again = false;
    let mut first = String::with_capacity(whole.len());
    for line in whole.lines() {
        match line.trim() {
            "-- again {" => again = true,
            "-- }" => again = false,
            _ if again => {}
            _ => first.extend([line, "\n"]),
        }
    }
    first
}

/// A shared statement in the words of SQLite: it has no schemas, and `now()` is microseconds since 1970.
///
/// Milliseconds are as fine as its clock is, so that times compare with those that the tables put in by default.
pub fn in_sqlite(shared: &str) -> String {
    shared
        .replace("aftercommit.", "")
        .replace("now()", "(cast(unixepoch('subsec') * 1000 as integer) * 1000)")
}

/// The statement of this name: `sql!("fetch")` from two files, `sql!(shared "leases")` from one; `sql!(first "record")` is
/// [`at_first`] of the one for PostgreSQL; `sql!(postgres "capture")` is for PostgreSQL alone.
macro_rules! sql {
    (shared $name:literal) => {
        $crate::store::database::sql!(@ $crate::store::database::sql!(@ "shared", $name).to_owned(), "shared", $name)
    };
    (first $name:literal) => {
        $crate::store::database::sql!(
            @ $crate::store::database::at_first($crate::store::database::sql!(@ "postgres", $name)), "sqlite", $name
        )
    };
    (postgres $name:literal) => {
        $crate::store::database::sql!(@ $crate::store::database::sql!(@ "postgres", $name).to_owned(), "postgres", $name)
    };
    ($name:literal) => {
        $crate::store::database::sql!(@ $crate::store::database::sql!(@ "postgres", $name).to_owned(), "sqlite", $name)
    };
    (@ $folder:literal, $name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/store/sql/", $folder, "/", $name, ".sql"))
    };
    (@ $postgres:expr, $folder:literal, $name:literal) => {{
        static STATEMENT: $crate::store::database::Statement = $crate::store::database::Statement::new(
            || $postgres,
            || $crate::store::database::in_sqlite($crate::store::database::sql!(@ $folder, $name)),
        );
        &STATEMENT
    }};
}
pub(crate) use sql;
