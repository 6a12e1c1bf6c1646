//! Tables whose committed changes become outbox rows by themselves.

mod attached;
mod comparing;
mod kinds;
mod texts;
mod together;
mod world;
