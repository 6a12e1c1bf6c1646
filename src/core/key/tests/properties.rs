//! What holds for the keys of all facts.

use proptest::option;
use proptest::prelude::*;

use crate::core::key::hash_fields;

/// Text that tries to look like the borders between fields.
fn field() -> impl Strategy<Value = Option<String>> {
    option::of("[-0-9:,é]{0,6}")
}

fn borrowed(fields: &[Option<String>]) -> Vec<Option<&str>> {
    fields.iter().map(Option::as_deref).collect()
}

#[test]
fn a_character_that_moves_to_the_next_field_makes_another_key() {
    assert_ne!(
        hash_fields(&[Some("123-"), Some("456")]),
        hash_fields(&[Some("123"), Some("-456")])
    );
    assert_ne!(
        hash_fields(&[Some("1:a,"), Some("")]),
        hash_fields(&[Some(""), Some("1:a,")])
    );
}

#[test]
fn a_field_that_is_not_there_is_not_an_empty_field() {
    assert_ne!(hash_fields(&[None]), hash_fields(&[Some("")]));
    assert_ne!(hash_fields(&[None, Some("")]), hash_fields(&[Some(""), None]));
    assert_ne!(hash_fields(&[None]), hash_fields(&[Some("-")]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn two_lists_of_fields_never_share_a_key(
        one in proptest::collection::vec(field(), 0..4),
        other in proptest::collection::vec(field(), 0..4),
    ) {
        prop_assert_eq!(one == other, hash_fields(&borrowed(&one)) == hash_fields(&borrowed(&other)));
    }

    #[test]
    fn the_same_text_cut_elsewhere_makes_another_key(text in "[-0-9:,]{2,8}", cuts in (0_usize..9, 0_usize..9)) {
        let (one, other) = (cuts.0.min(text.len()), cuts.1.min(text.len()));
        let cut = |at: usize| hash_fields(&[Some(&text[..at]), Some(&text[at..])]);
        prop_assert_eq!(one == other, cut(one) == cut(other));
    }
}
