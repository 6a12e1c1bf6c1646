//! `aftercommit enqueue` reads Parquet: of its records come the rows that the same lines of NDJSON would make.

use std::fs::File;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use parquet::arrow::ArrowWriter;

use super::command::Project;
use crate::store::world::{Backend, World, on_both};

on_both! {
    async fn records_of_a_parquet_file_are_the_rows_of_the_same_ndjson(backend: Backend) {
        let world = World::migrated(backend).await;
        let project = Project::with(&format!("[database]\nurl = \"{}\"\n[topics.t]\nkind = \"state\"\n", world.url));
        let columns: [(&str, ArrayRef); 3] = [
            ("id", Arc::new(Int64Array::from_iter_values(0..1_500))),
            ("shop", Arc::new(StringArray::from_iter_values((0..1_500).map(|_| "a/b")))),
            ("at", Arc::new(TimestampMicrosecondArray::from_iter_values(0..1_500))),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let file = File::create(project.path("rows.parquet")).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let arguments = ["enqueue", "--topic", "t", "--key", "shop,id", "--version", "at", "--batch-rows", "400", "--json"];
        let summary = project.run(&[&arguments[..], &["rows.parquet"]].concat()).await.json();
        assert_eq!(summary["admitted"], 1_500);

        let line = |id: i64| format!("{{\"id\":{id},\"shop\":\"a/b\",\"at\":\"1970-01-01T00:00:00.{id:06}Z\"}}\n");
        project.write("rows.ndjson", &(0..1_500).map(line).collect::<String>());
        let summary = project.run(&[&arguments[..], &["rows.ndjson"]].concat()).await.json();
        assert_eq!(summary["unchanged"], 1_500, "{summary}");

        let error = project.run(&[&arguments[..], &["--format", "parquet", "--checkpoint", "c"]].concat()).await.failed(2);
        assert!(error.contains("name a file"), "{error}");
    }
}
