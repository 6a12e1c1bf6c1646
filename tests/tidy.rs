//! The rules of the project that no compiler knows, each a test. A message names file, line and the way out.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Each floor of `src`, from the ground up, and the floors that it may know. See the layout in ARCHITECTURE.md.
const FLOORS: &str = "
    core:
    crash:
    clock: core
    config: core clock
    telemetry: core clock config
    store: core crash clock config telemetry
    destination: core clock config telemetry
    mock: core
    relay: core crash clock config telemetry store destination
    capture: core clock config telemetry store destination
    verify: core clock config store relay mock
    admin: core crash clock config telemetry store destination relay capture
    cli: core crash clock config telemetry store destination relay capture admin mock verify
";

/// What the pure core may not name: the outside world, the clocks of the system, and chance.
const IMPURE: [&str; 10] = [
    "tokio",
    "sqlx",
    "reqwest",
    "axum",
    "rand",
    "fastrand",
    "SystemTime",
    "Instant",
    "std::fs",
    "std::env",
];

/// Longer files hide more than one thing.
const MAX_LINES: usize = 400;

#[test]
fn no_import_climbs_the_floors() {
    check(&rust_files(), |file| {
        let Some(floor) = file.floor() else { return vec![] };
        let Some(known) = known_to(floor) else {
            return vec![(
                1,
                format!("`{floor}` is no floor yet: say in FLOORS of tests/tidy.rs what it may know"),
            )];
        };
        let climbs = |name: &str| name != floor && !known.contains(&name);
        let imports = imports(&file.code(), file.depth())
            .into_iter()
            .filter(|(_, name)| climbs(name));
        let complaint = |name: String| {
            if known_to(&name).is_some() {
                format!("`{floor}` may not know `{name}`: move the code down, or pass in what it needs")
            } else {
                format!("`crate::{name}` hides its floor: name the module in which it stands")
            }
        };
        imports.map(|(line, name)| (line, complaint(name))).collect()
    });
}

#[test]
fn the_core_knows_neither_the_outside_world_nor_time_nor_chance() {
    check(&rust_files(), |file| {
        // Its tests may: what makes a million documents draws them by chance.
        let code = if file.floor() == Some("core") && !file.path.contains("/tests") {
            file.code()
        } else {
            String::new()
        };
        let named = |line: &str| IMPURE.iter().find(|word| names(line, word)).copied();
        lines_where(&code, |line| {
            named(line)
                .map(|word| format!("the core is pure, `{word}` is not: take the value as an argument"))
        })
    });
}

#[test]
fn every_rust_file_begins_by_saying_what_it_is() {
    check(&rust_files(), |file| match file.text.lines().next() {
        Some(line) if line.starts_with("//! ") => vec![],
        _ => vec![(
            1,
            "begin with `//! `: what it is, why it is there, what it may not do".to_owned(),
        )],
    });
}

#[test]
fn no_file_of_code_is_longer_than_a_reader_can_hold() {
    check(&files(&["rs", "sql", "sh"]), |file| {
        match file.text.lines().count() {
            count if count <= MAX_LINES => vec![],
            count => vec![(
                count,
                format!("{count} lines, the limit is {MAX_LINES}: find the second thing in it"),
            )],
        }
    });
}

#[test]
fn the_migrations_of_both_databases_have_the_same_names() {
    let migrations = |database: &str| -> BTreeSet<String> {
        let under = format!("migrations/{database}/");
        files(&["sql"])
            .iter()
            .filter_map(|file| file.path.strip_prefix(&under).map(str::to_owned))
            .collect()
    };
    let (postgres, sqlite) = (migrations("postgres"), migrations("sqlite"));
    let lonely: Vec<_> = postgres.symmetric_difference(&sqlite).collect();
    assert!(
        lonely.is_empty(),
        "only one of migrations/postgres and migrations/sqlite has {lonely:?}: add its twin"
    );
}

#[test]
fn every_statement_of_the_store_is_included_somewhere() {
    let code: String = rust_files()
        .iter()
        .filter(|file| file.floor() == Some("store"))
        .map(SourceFile::code)
        .collect();
    check(&files(&["sql"]), |file| {
        let Some(name) = file.path.strip_prefix("src/store/") else {
            return vec![];
        };
        let stem = Path::new(name).file_stem().unwrap_or_default().to_string_lossy();
        if code.contains(&format!("\"{stem}\"")) || code.contains(name) {
            return vec![];
        }
        vec![(
            1,
            format!("nothing in src/store includes it: use it as \"{stem}\" or remove it"),
        )]
    });
}

#[test]
fn no_lint_is_silenced_without_being_expected() {
    // Spelled in two halves, as below, so that this file passes its own rules.
    let silencers = [concat!("[al", "low("), concat!(", al", "low(")];
    check(&rust_files(), |file| {
        lines_where(&file.code(), |line| {
            let silenced = silencers.iter().any(|silencer| line.contains(silencer));
            silenced.then(|| {
                "use `#[expect(…, reason = \"…\")]`: it speaks up when it is not needed any more".to_owned()
            })
        })
    });
}

#[test]
fn nothing_is_left_to_be_written() {
    let gaps = [concat!("to", "do!"), concat!("unimple", "mented!")];
    check(&rust_files(), |file| {
        lines_where(&file.code(), |line| {
            let gap = gaps.iter().find(|gap| line.contains(*gap))?;
            Some(format!(
                "`{gap}` is a promise to a reader who cannot collect it: write it or leave it out"
            ))
        })
    });
}

#[test]
fn no_path_of_somebodys_machine_is_written_down() {
    let roots = [
        concat!("/wo", "rk/"),
        concat!("/ro", "ot/"),
        concat!("/ho", "me/"),
        concat!("/Us", "ers/"),
    ];
    check(&files(&[]), |file| {
        lines_where(&file.text, |line| {
            let root = roots.iter().find(|root| begins_a_path(line, root))?;
            Some(format!(
                "`{root}` exists on one machine: use a relative path, a variable or a temporary directory"
            ))
        })
    });
}

#[test]
fn the_rule_of_the_floors_sees_every_form_of_an_import() {
    let code = "use crate::store::Store;\n\
                use crate::{\n    core::row::{Row, store},\n    relay::Lease,\n};\n\
                fn f() { super::super::admin::serve(crate::cli::Verb) }\n\
                use crate::capture as way_in;\n";
    let seen = imports(code, 2);
    let expected = [
        (1, "store"),
        (2, "core"),
        (2, "relay"),
        (6, "cli"),
        (7, "capture"),
        (6, "admin"),
    ];
    assert_eq!(seen, expected.map(|(line, name)| (line, name.to_owned())));
}

/// A text file of the project.
struct SourceFile {
    /// From the root of the project, with `/`.
    path: String,
    text: String,
}

impl SourceFile {
    /// The module below `src` to which the file belongs; the roots of the crate and files elsewhere belong to none.
    fn floor(&self) -> Option<&str> {
        let inside = self.path.strip_prefix("src/")?;
        let first = inside.split('/').next()?;
        let name = first.strip_suffix(".rs").unwrap_or(first);
        (!["lib", "main"].contains(&name)).then_some(name)
    }

    /// How many times `super` leads to the root of the crate.
    fn depth(&self) -> usize {
        let inside = self.path.strip_prefix("src/").unwrap_or(&self.path);
        let module = inside.strip_suffix("/mod.rs").unwrap_or(inside);
        module.split('/').count()
    }

    /// The text with its comments blanked; the lines keep their numbers.
    fn code(&self) -> String {
        let without_comment = |line: &'_ str| -> String {
            let comment = if line.trim_start().starts_with("//") {
                Some(0)
            } else {
                line.find(" // ")
            };
            line[..comment.unwrap_or(line.len())].to_owned() + "\n"
        };
        self.text.lines().map(without_comment).collect()
    }
}

/// Fails with everything that the rule has to say about the files, as `path:line: message`.
fn check(files: &[SourceFile], rule: impl Fn(&SourceFile) -> Vec<(usize, String)>) {
    let complaints: Vec<String> = files
        .iter()
        .flat_map(|file| {
            rule(file)
                .into_iter()
                .map(|(line, message)| format!("{}:{line}: {message}", file.path))
        })
        .collect();
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

fn rust_files() -> Vec<SourceFile> {
    files(&["rs"])
}

/// The text files of the project with one of these endings, or all of them if none is named.
fn files(endings: &[&str]) -> Vec<SourceFile> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = vec![];
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the project can be read").flatten() {
            let path: PathBuf = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if ["target", ".git", "node_modules"].contains(&name.as_str()) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if endings.is_empty() || endings.iter().any(|ending| name.ends_with(&format!(".{ending}")))
            {
                let relative = path
                    .strip_prefix(root)
                    .expect("found below the root")
                    .to_string_lossy();
                // What is no UTF-8 is no text.
                let text = fs::read_to_string(&path).ok();
                found.extend(text.map(|text| SourceFile {
                    path: relative.into_owned(),
                    text,
                }));
            }
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

/// The lines, counted from one, about which `complaint` has something to say.
fn lines_where(text: &str, complaint: impl Fn(&str) -> Option<String>) -> Vec<(usize, String)> {
    text.lines()
        .zip(1..)
        .filter_map(|(line, number)| Some((number, complaint(line)?)))
        .collect()
}

/// The modules that code names by a path from the root of the crate, each with its line.
///
/// A chain of `super::` counts where it is long enough to end at the root, and the next word is a floor. A macro of the
/// crate is named at the root, wherever it stands: it counts as the file of its name.
fn imports(code: &str, depth: usize) -> Vec<(usize, String)> {
    let line_of = |position: usize| code[..position].matches('\n').count() + 1;
    let from_root = code.match_indices("crate::").flat_map(|(position, path)| {
        let heads = heads(&code[position + path.len()..]);
        heads.into_iter().map(move |head| (line_of(position), head))
    });
    let to_root = "super::".repeat(depth);
    let from_super = code.match_indices(&to_root).flat_map(|(position, path)| {
        let heads = heads(&code[position + path.len()..]);
        let floors = heads.into_iter().filter(|head| known_to(head).is_some());
        floors.map(move |head| (line_of(position), head))
    });
    let floor_of_macro = |head: String| {
        if head == "crash_point" {
            "crash".to_owned()
        } else {
            head
        }
    };
    let all = from_root.chain(from_super);
    all.map(|(line, head)| (line, floor_of_macro(head))).collect()
}

/// The floors that a floor may know, or nothing if there is no such floor.
fn known_to(floor: &str) -> Option<Vec<&'static str>> {
    let mut lines = FLOORS.lines().filter_map(|line| line.trim().split_once(':'));
    lines
        .find(|(name, _)| *name == floor)
        .map(|(_, known)| known.split_whitespace().collect())
}

/// The first word of a path, or of each path in a group in braces.
fn heads(path: &str) -> Vec<String> {
    let word = |text: &str| -> String {
        text.trim_start()
            .chars()
            .take_while(|letter| letter.is_alphanumeric() || *letter == '_')
            .collect()
    };
    let Some(group) = path.strip_prefix('{') else {
        return vec![word(path)];
    };
    let mut found = vec![word(group)];
    let mut depth = 1;
    for (position, letter) in group.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => found.push(word(&group[position + 1..])),
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    found.retain(|head| !head.is_empty());
    found
}

/// Whether the word stands in the line by itself, not as a part of a longer name.
fn names(line: &str, word: &str) -> bool {
    let part_of_a_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    line.match_indices(word).any(|(position, _)| {
        let (before, after) = (&line[..position], &line[position + word.len()..]);
        !before.ends_with(part_of_a_name) && !after.starts_with(part_of_a_name)
    })
}

/// Whether a path in the line starts with `root`, rather than holding it further inside.
fn begins_a_path(line: &str, root: &str) -> bool {
    line.match_indices(root).any(|(position, _)| {
        !line[..position].ends_with(|letter: char| letter.is_alphanumeric() || "._-/})".contains(letter))
    })
}
