//! Admission: what becomes of a row that a pipeline inserts into the outbox. Each story runs on both databases, unless
//! it is about something that only one of them has.

mod contention;
mod events;
mod isolation;
mod privileges;
mod refusals;
mod routes;
mod state;
mod transactions;
mod world;

/// Makes a test for each database of stories that take a `World`.
macro_rules! on_both {
    ($($story:ident),+ $(,)?) => {
        mod on_postgres {
            use crate::admission::world::World;
            $(#[tokio::test] async fn $story() { super::$story(World::on_postgres().await).await; })+
        }
        mod on_sqlite {
            use crate::admission::world::World;
            $(#[tokio::test] async fn $story() { super::$story(World::on_sqlite().await).await; })+
        }
    };
}
use on_both;
