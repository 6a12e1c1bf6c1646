//! Tables whose committed changes become outbox rows by themselves.

mod attached;
mod comparing;
mod guards;
mod kinds;
mod owners;
mod patterns;
mod slices;
mod texts;
mod together;
mod world;
