//! A pipeline's last transaction: what it worked out, and what the world must hear of, both or neither.
//!
//!     cargo run --example quickstart
//!
//! Run it twice: the second time the ledger knows the row, and nothing new will be sent.

use aftercommit::core::row::{NewRow, Op};
use aftercommit::store::{Admission, Database, DatabaseOptions, MissingFile, Outbox};
use secrecy::SecretString;
use sqlx::{Connection as _, SqliteConnection};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let path = std::env::temp_dir().join("aftercommit-quickstart.db");
    let url = format!("sqlite://{}", path.display());

    // Once per database; `aftercommit migrate` does the same.
    let options = DatabaseOptions {
        missing_file: MissingFile::Create,
        ..DatabaseOptions::default()
    };
    let database = Database::connect(&SecretString::from(url.clone()), &options)?;
    database.migrate("quickstart").await?;
    database.close().await;

    // The pipeline's own connection, and its own tables beside the outbox.
    let mut connection = SqliteConnection::connect(&url).await?;
    let mut transaction = connection.begin_with("begin immediate").await?;
    sqlx::query("create table if not exists invoice (id integer primary key, paid boolean)")
        .execute(&mut *transaction)
        .await?;
    sqlx::query("insert into invoice (id, paid) values (7, true) on conflict (id) do update set paid = true")
        .execute(&mut *transaction)
        .await?;
    let row = NewRow {
        topic: "invoices".to_owned(),
        row_key: "7".to_owned(),
        row_version: Some(1),
        op: Op::Upsert,
        payload: r#"{"id": 7, "paid": true}"#.to_owned(),
        headers: None,
    };
    let admission = Outbox::enqueue(&mut transaction, &row).await?;
    transaction.commit().await?;
    connection.close().await?;

    match admission {
        Admission::Admitted { id } => println!("committed, and owed to the world as outbox row {id}"),
        Admission::Unchanged => println!("committed; the world knows already"),
        Admission::Stale => println!("committed; the world knows something newer"),
    }
    println!("next: aftercommit status --database {url}");
    Ok(())
}
