//! The session of rows that do not say theirs.
//!
//! A file of such rows is one session for each kernel and build: two kernels are two boots. The runs of two programs
//! that were taken in turns are of one session, and of two builds. Must not know: what is computed from sessions.

use super::Row;
use crate::study::BINARY;

/// Names the sessions of rows that have none, as older ones, after their file.
pub(crate) fn name_sessions(rows: &mut [Row], file: &str) {
    for row in rows.iter_mut().filter(|row| row.session.is_empty()) {
        let build = if row.asked.contains_key(BINARY) { "" } else { &row.build };
        row.session = format!("of {file}, {}, {build}", row.kernel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_a_session_are_of_one_for_each_file_kernel_and_build() {
        let row = |session: &str, kernel: &str, build: &str| Row {
            session: session.into(),
            kernel: kernel.into(),
            build: build.into(),
            ..Row::default()
        };
        let in_turns = |build: &str| {
            let mut row = row("", "6.1", build);
            row.asked.insert(BINARY.into(), "a".into());
            row
        };
        let same = |one: Row, other: Row| {
            let mut rows = [one, other];
            name_sessions(&mut rows, "file");
            rows[0].session == rows[1].session
        };
        assert!(same(row("", "6.1", "b1"), row("", "6.1", "b1")));
        assert!(!same(row("", "6.1", "b1"), row("", "6.2", "b1")), "a reboot lies between");
        assert!(!same(row("", "6.1", "b1"), row("", "6.1", "b2")));
        assert!(same(in_turns("b1"), in_turns("b2")));
        let mut named = [row("x", "6.1", "b1")];
        name_sessions(&mut named, "file");
        assert_eq!(named[0].session, "x");
    }
}
