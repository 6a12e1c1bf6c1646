//! What must hold for the files of the page, read as they stand.

use std::collections::BTreeSet;
use std::path::Path;

use super::{ASSETS, Asset, INDEX};

/// What turns text into markup or code, or keeps it where others can read it.
const FORBIDDEN: [&str; 18] = [
    "innerHTML",
    "outerHTML",
    "insertAdjacentHTML",
    "setHTMLUnsafe",
    "parseHTMLUnsafe",
    "createContextualFragment",
    "DOMParser",
    "document.write",
    "srcdoc",
    "eval(",
    "new Function",
    "Function(",
    "await import",
    "javascript:",
    "style=",
    "cookie",
    "localStorage",
    "console.",
];

fn modules() -> impl Iterator<Item = &'static Asset> {
    ASSETS
        .iter()
        .filter(|asset| asset.media_type().starts_with("text/javascript"))
}

#[test]
fn every_file_of_the_page_is_served() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/admin/page");
    let there: BTreeSet<String> = folder
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "tests.rs" && name != INDEX.name)
        .collect();
    let served: BTreeSet<String> = ASSETS.iter().map(|asset| asset.name.to_owned()).collect();
    assert_eq!(served, there);
}

#[test]
fn no_file_of_the_page_can_turn_text_into_markup_or_code() {
    for Asset { name, text } in ASSETS.iter().chain([&INDEX]) {
        for word in FORBIDDEN {
            assert!(
                !text.contains(word),
                "{name} holds `{word}`: make text nodes, with dom.js"
            );
        }
    }
}

#[test]
fn the_page_names_no_other_host() {
    for Asset { name, text } in ASSETS.iter().chain([&INDEX]) {
        // The name of the language of drawings is no address.
        let text = text.replace("http://www.w3.org/2000/svg", "");
        assert!(!text.contains("://"), "{name} names an address elsewhere");
    }
}

#[test]
fn each_module_says_what_it_is_and_imports_what_is_served() {
    for Asset { name, text } in modules() {
        assert!(
            text.starts_with("// "),
            "{name} does not begin by saying what it is"
        );
        for line in text.lines().filter(|line| line.starts_with("import ")) {
            let (_, from) = line
                .split_once(" from './")
                .unwrap_or_else(|| panic!("{name}: {line}"));
            let wanted = from.trim_end_matches("';");
            assert!(
                modules().any(|module| module.name == wanted),
                "{name} imports {wanted}, which is not served"
            );
        }
    }
}
