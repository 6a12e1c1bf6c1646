//! How rows get in: files, standard input, and the Rust API.
