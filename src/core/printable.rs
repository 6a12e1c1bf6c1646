//! Foreign bytes as text that a database, a terminal and a person can bear. Pure.

/// `bytes` as text of at most `max_bytes` bytes, cut between characters. What is no UTF-8, and control characters but
/// for line breaks and tabs, become U+FFFD: a database may take no NUL, and terminals obey the others.
pub fn printable(bytes: &[u8], max_bytes: usize) -> String {
    let shown = |character: char| match character {
        '\n' | '\r' | '\t' => character,
        control if control.is_control() => char::REPLACEMENT_CHARACTER,
        other => other,
    };
    let mut text: String = String::from_utf8_lossy(bytes).chars().map(shown).collect();
    text.truncate(text.floor_char_boundary(max_bytes));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!(printable("äöü".as_bytes(), 6), "äöü");
        assert_eq!(printable("äöü".as_bytes(), 5), "äö");
        assert_eq!(printable("a😀".as_bytes(), 4), "a");
        assert_eq!(printable(b"abc", 0), "");
    }

    #[test]
    fn what_a_database_or_a_terminal_would_stumble_over_is_replaced() {
        assert_eq!(
            printable(b"a\0b\xffc\x1b[2Jd\n\te", 100),
            "a\u{fffd}b\u{fffd}c\u{fffd}[2Jd\n\te"
        );
    }

    #[test]
    fn replacements_do_not_grow_it_beyond_its_cap() {
        assert_eq!(printable(&[0xff; 100], 10), "\u{fffd}".repeat(3));
    }
}
