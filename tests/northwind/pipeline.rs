//! The pipeline: reads the files, and in one transaction writes tables and outbox rows by plain SQL.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};

const TABLES: &str = "
create table if not exists customers (
    customer_id text primary key, company_name text not null, contact_name text, contact_title text, address text,
    city text, region text, postal_code text, country text, phone text, fax text
);
create table if not exists orders (
    order_id integer primary key, customer_id text not null references customers, employee_id integer,
    order_date date, required_date date, shipped_date date, ship_via integer, freight numeric, ship_name text,
    ship_address text, ship_city text, ship_region text, ship_postal_code text, ship_country text
);
create table if not exists order_details (
    order_id integer references orders, product_id integer, unit_price numeric, quantity integer, discount numeric,
    primary key (order_id, product_id)
);
";

/// What the pipeline tells of a table: its name, which is the topic, the op, and the row key.
pub(crate) type Told = (&'static str, &'static str, &'static str);

/// The table of customers.
pub(crate) const CUSTOMERS: Told = ("customers", "upsert", "customer_id");

/// All of them.
pub(crate) const TABLES_TOLD: [Told; 3] = [
    CUSTOMERS,
    ("orders", "event", "order_id::text"),
    (
        "order_details",
        "event",
        "json_build_array(order_id, product_id)::text",
    ),
];

/// A pipeline with its connection.
pub(crate) struct Pipeline {
    connection: PgConnection,
}

/// What must arrive for a row of a table.
#[derive(Debug)]
pub(crate) struct Expected {
    pub(crate) topic: String,
    pub(crate) op: String,
    pub(crate) row_key: String,
    pub(crate) payload: String,
}

/// A line of a file: which row it is, and its cells by column.
pub(crate) struct Line {
    pub(crate) topic: &'static str,
    pub(crate) row_key: String,
    pub(crate) cells: BTreeMap<String, String>,
}

impl Pipeline {
    pub(crate) async fn connect(url: &str) -> Self {
        let mut connection = PgConnection::connect(url).await.unwrap();
        sqlx::raw_sql(TABLES).execute(&mut connection).await.unwrap();
        Self { connection }
    }

    /// Loads the files of these tables in one transaction, as often as one likes; what is there is not changed. Returns what
    /// stands in the files.
    pub(crate) async fn load(&mut self, folder: &Path, tables: &[Told]) -> Vec<Line> {
        let mut all = Vec::new();
        let mut transaction = self.connection.begin().await.unwrap();
        for &(table, op, row_key) in tables {
            let rows = read(folder, table);
            let fill = format!(
                "insert into {table} select * from json_populate_recordset(null::{table}, $1::json) on conflict do nothing"
            );
            sqlx::query(AssertSqlSafe(fill))
                .bind(as_json(&rows))
                .execute(&mut *transaction)
                .await
                .unwrap();
            sqlx::query(AssertSqlSafe(tell((table, op, row_key))))
                .execute(&mut *transaction)
                .await
                .unwrap();
            all.extend(rows);
        }
        transaction.commit().await.unwrap();
        all
    }

    /// Commits a change of one customer's telephone number.
    pub(crate) async fn change_one(&mut self, customer_id: &str, phone: &str) {
        let mut transaction = self.connection.begin().await.unwrap();
        let change = "update customers set phone = $2 where customer_id = $1";
        sqlx::query(change)
            .bind(customer_id)
            .bind(phone)
            .execute(&mut *transaction)
            .await
            .unwrap();
        let tell = tell(CUSTOMERS) + " where customer_id = $1";
        sqlx::query(AssertSqlSafe(tell))
            .bind(customer_id)
            .execute(&mut *transaction)
            .await
            .unwrap();
        transaction.commit().await.unwrap();
    }

    /// Changes customers and tells nobody: the next load does.
    pub(crate) async fn change_silently(&mut self, customer_ids: &[String]) {
        let change =
            "update customers set city = upper(city) || '!', region = null where customer_id = any($1)";
        let changed = sqlx::query(change)
            .bind(customer_ids)
            .execute(&mut self.connection)
            .await
            .unwrap();
        assert_eq!(changed.rows_affected(), customer_ids.len() as u64);
    }

    /// Commits one more order, which shows that everything before it has been looked at.
    pub(crate) async fn mark(&mut self) {
        let mark = "insert into aftercommit.outbox (topic, row_key, op, payload) values ('orders', 'marker', 'event', '{}')";
        sqlx::query(mark).execute(&mut self.connection).await.unwrap();
    }

    /// Deliveries that have not ended.
    pub(crate) async fn owed(&mut self) -> i64 {
        let owed = "select count(*) from aftercommit.owed";
        sqlx::query_scalar(owed)
            .fetch_one(&mut self.connection)
            .await
            .unwrap()
    }

    /// What goes into every key of this database.
    pub(crate) async fn namespace(&mut self) -> String {
        let namespace = "select value from aftercommit.setting where name = 'namespace'";
        sqlx::query_scalar(namespace)
            .fetch_one(&mut self.connection)
            .await
            .unwrap()
    }

    /// Every row of these tables, as it must arrive.
    pub(crate) async fn tables(&mut self, tables: &[Told]) -> Vec<Expected> {
        let mut expected = Vec::new();
        for &(table, op, row_key) in tables {
            let rows = format!("select {row_key} as row_key, to_json({table})::text as payload from {table}");
            let rows = sqlx::query(AssertSqlSafe(rows))
                .fetch_all(&mut self.connection)
                .await
                .unwrap();
            expected.extend(rows.iter().map(|row| Expected {
                topic: table.to_owned(),
                op: op.to_owned(),
                row_key: row.get("row_key"),
                payload: row.get("payload"),
            }));
        }
        expected
    }
}

/// Tells of every row of a table.
fn tell((table, op, row_key): Told) -> String {
    format!(
        "insert into aftercommit.outbox (topic, row_key, op, payload)
         select '{table}', {row_key}, '{op}', to_json({table}) from {table}"
    )
}

fn read(folder: &Path, table: &'static str) -> Vec<Line> {
    let path = folder.join(format!("{table}.csv"));
    let mut reader =
        csv::Reader::from_path(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let rows = reader.deserialize::<BTreeMap<String, String>>();
    rows.map(|cells| {
        let cells = cells.unwrap();
        let row_key = match table {
            "customers" => cells["customer_id"].clone(),
            "orders" => cells["order_id"].clone(),
            _ => format!("[{}, {}]", cells["order_id"], cells["product_id"]),
        };
        Line {
            topic: table,
            row_key,
            cells,
        }
    })
    .collect()
}

/// A list of objects for PostgreSQL to make rows of; an empty cell is null.
fn as_json(rows: &[Line]) -> String {
    let value = |cell: &String| {
        if cell.is_empty() {
            Value::Null
        } else {
            Value::String(cell.clone())
        }
    };
    let object = |row: &Line| -> Value {
        let fields = row
            .cells
            .iter()
            .map(|(column, cell)| (column.clone(), value(cell)));
        Value::Object(fields.collect())
    };
    Value::Array(rows.iter().map(object).collect()).to_string()
}
