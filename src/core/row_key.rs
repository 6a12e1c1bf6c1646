//! Row keys of several parts: one text, from which no other list of as many parts comes.
//!
//! The same as `aftercommit.row_key` in SQL, so that a row has one key whichever way it comes in.

/// The row key of these parts. One part: as it is. Several: in each `~` becomes `~0` and `/` becomes `~1`, as in a JSON
/// Pointer (RFC 6901), and `/` stands between them.
pub fn row_key<P: AsRef<str>>(parts: &[P]) -> String {
    if let [part] = parts {
        return part.as_ref().to_owned();
    }
    let escaped = parts
        .iter()
        .map(|part| part.as_ref().replace('~', "~0").replace('/', "~1"));
    escaped.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn several_parts_are_escaped_as_in_a_json_pointer_and_one_is_left_alone() {
        assert_eq!(row_key(&["a/b~1"]), "a/b~1");
        assert_eq!(row_key(&["a/b", "~1", ""]), "a~1b/~01/");
    }

    fn parts() -> impl Strategy<Value = (Vec<String>, Vec<String>)> {
        (1..4_usize).prop_flat_map(|length| {
            let list = || prop::collection::vec("[a01/~]{0,3}", length);
            (list(), list())
        })
    }

    proptest! {
        #[test]
        fn two_lists_of_one_length_never_share_a_key((one, other) in parts()) {
            prop_assert_eq!(one == other, row_key(&one) == row_key(&other));
        }
    }
}
