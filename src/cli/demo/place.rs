//! Where the demo runs: a SQLite file of its own, or a PostgreSQL database that holds nothing but demos.

use secrecy::SecretString;
use tempfile::TempDir;

use crate::cli::exit::Problem;
use crate::store::{Database, DatabaseOptions, MissingFile, SqlStore, Store as _, StoreError};

/// The namespace of a database in which demos run: how the demo knows its own.
const NAMESPACE: &str = "aftercommit-demo";

/// A migrated database for the demo.
pub(super) struct Place {
    pub(super) store: SqlStore,
    pub(super) url: SecretString,
    /// For people; shows no password.
    pub(super) name: &'static str,
    // Last, since fields are dropped in order: the file goes after its connections.
    _folder: Option<TempDir>,
}

impl Place {
    /// A new SQLite file, gone with the place; or the database at `url`, if it is empty or an earlier demo's.
    pub(super) async fn prepare(url: Option<&SecretString>) -> anyhow::Result<Self> {
        let (url, name, folder) = if let Some(url) = url {
            (url.clone(), "the database that you named", None)
        } else {
            let folder = tempfile::Builder::new().prefix("aftercommit-demo-").tempdir()?;
            let url = format!("sqlite://{}", folder.path().join("demo.db").display());
            (
                SecretString::from(url),
                "a SQLite file that is gone afterwards",
                Some(folder),
            )
        };
        let options = DatabaseOptions {
            missing_file: MissingFile::Create,
            ..DatabaseOptions::default()
        };
        let database = Database::connect(&url, &options)?;
        let store = SqlStore::new(database);
        let foreign = || {
            Problem::BadInput(
                "the database holds an outbox that is not the demo's; name an empty database, for example one that \
                 `createdb` has just made"
                    .to_owned(),
            )
        };
        match store.namespace().await {
            Ok(namespace) if namespace == NAMESPACE => {}
            Ok(_) => return Err(foreign().into()),
            // It is empty, or does not exist yet: `migrate` makes it, or says why not.
            Err(StoreError::NotMigrated | StoreError::Unavailable(_)) => {}
            Err(error) => return Err(error.into()),
        }
        store.database().migrate(NAMESPACE).await?;
        // Somebody else may have migrated it in between.
        if store.namespace().await? != NAMESPACE {
            return Err(foreign().into());
        }
        Ok(Self {
            store,
            url,
            name,
            _folder: folder,
        })
    }
}
