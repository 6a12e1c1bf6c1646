//! Numbers with the words that belong to them.

use std::fmt::Display;

/// `1 row` or `2 rows`; with a verb, `1 row is` or `2 rows are`.
pub(super) fn counted(count: impl Display, one: &str, many: &str) -> String {
    let count = count.to_string();
    let word = if count == "1" { one } else { many };
    format!("{count} {word}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_is_one() {
        let rows = [0_u64, 1, 2].map(|count| counted(count, "row is", "rows are"));
        assert_eq!(rows, ["0 rows are", "1 row is", "2 rows are"]);
        assert_eq!(counted(1_usize, "topic", "topics"), "1 topic");
    }
}
