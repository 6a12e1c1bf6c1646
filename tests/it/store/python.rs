//! The way in from Python: `examples/python`, driven by `tests/clients/outbox_test.py`.

use super::world::{Backend, World, on_both};

on_both! {
    async fn rows_from_python_keep_their_digits_and_come_once(backend: Backend) {
        let world = World::migrated(backend).await;
        let file = world.url.trim_start_matches("sqlite://").split('?').next().unwrap();
        let database = match backend {
            Backend::Postgres => world.url.as_str(),
            Backend::Sqlite => file,
        };
        crate::python::run("outbox_test.py", &[database], &[]).await;
    }
}
