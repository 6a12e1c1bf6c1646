//! The defaults: the commented text that is also the reference.
//!
//! No default stands anywhere else. What the options mean, the text says; how they are read, the reader.

/// Every option, commented.
pub(super) const TEXT: &str = include_str!("../../aftercommit.default.toml");

/// The text with every option switched on: a `#` without a blank behind it is taken away.
pub(super) fn every_option() -> String {
    TEXT.lines().flat_map(|line| [switched_on(line), "\n"]).collect()
}

fn switched_on(line: &str) -> &str {
    match line.strip_prefix('#') {
        Some(option) if !option.is_empty() && !option.starts_with(' ') => option,
        _ => line,
    }
}
