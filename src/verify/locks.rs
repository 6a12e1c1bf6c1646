//! Who writes to a SQLite file, by the locks that Linux shows in `/proc/locks`. Nothing is locked by looking.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The byte of the log's shared memory that a connection locks from its first write to its commit.
/// Source: `WAL_WRITE_LOCK` in <https://www.sqlite.org/walformat.html#wal_locks>.
const WRITE_LOCK: &str = "120";

/// Whether a process of `group` holds the lock to write in `file`; `None` where the system does not tell.
pub(super) fn is_written_by(group: u32, file: &Path) -> Option<bool> {
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let Ok(metadata) = fs::metadata(file) else {
        // Nobody has the database open.
        return Some(false);
    };
    let mut writers = locks.lines().filter_map(|line| writer(line, metadata.ino()));
    Some(writers.any(|process| group_of(process) == Some(group)))
}

/// The process that a line names as the one that writes in the file `inode`:
/// `1: POSIX  ADVISORY  WRITE 21181 fe:00:10010843 120 120`.
fn writer(line: &str, inode: u64) -> Option<u32> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [_, "POSIX", _, "WRITE", process, file, WRITE_LOCK, _] = words[..] else {
        return None;
    };
    let is_file = file.rsplit(':').next()?.parse() == Ok(inode);
    is_file.then(|| process.parse().ok()).flatten()
}

fn group_of(process: u32) -> Option<u32> {
    group_in(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
}

/// The group in the line that Linux has of a process: `7 (a name) S 1 7 …`. The name may hold anything.
fn group_in(stat: &str) -> Option<u32> {
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(2)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_lock_to_write_in_this_file_names_a_writer() {
        let line = |words: &str| writer(&format!("1: {words}"), 77);
        assert_eq!(line("POSIX  ADVISORY  WRITE 9 fe:00:77 120 120"), Some(9));
        for other in [
            "POSIX  ADVISORY  READ 9 fe:00:77 124 124",
            "POSIX  ADVISORY  WRITE 9 fe:00:78 120 120",
            "POSIX  ADVISORY  WRITE 9 fe:00:77 121 121",
            "-> POSIX  ADVISORY  WRITE 9 fe:00:77 120 120",
            "FLOCK  ADVISORY  WRITE 9 fe:00:77 120 120",
        ] {
            assert_eq!(line(other), None, "{other}");
        }
    }

    #[test]
    fn the_group_of_a_process_is_found_whatever_its_name() {
        assert_eq!(group_in("7 (a) S 1 2) R 5 42 3 0"), Some(42));
        assert_eq!(group_in("7"), None);
    }
}
