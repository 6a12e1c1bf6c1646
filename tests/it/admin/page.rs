//! The page in a real browser, before a real daemon: what people do there, and what it does to them.
//!
//! ```text
//!  story ─▶ desk: database, receiver, daemon
//!        └▶ browser ─▶ wire ─▶ chromedriver ─▶ a headless Chromium ─▶ the daemon's page
//! ```

mod browser;
mod desk;
mod ends;
mod hostile;
mod mending;
mod modules;
mod reach;
mod served;
mod settling;
mod stories;
mod views;
mod wire;
mod words;
