//! The opposite of a flag is answered with what holds without it, never with the flag itself as a suggestion.

use crate::support::{Home, expect, make_folder};

fn home() -> Home {
    let home = Home::new();
    home.file("a", 10);
    make_folder(&home, "folder");
    home
}

#[test]
fn the_opposite_of_a_flag_says_what_holds_without_it() {
    let home = home();
    let before = home.names();
    for (command, flag, said) in [
        ("copy", "--no-progress", "write --progress=never"),
        ("copy", "--no-sparse", "write --sparse=never"),
        ("copy", "--no-sync", "write --sync=none"),
        ("copy", "--no-delete", "--delete is off unless it is given; leave --no-delete out"),
        ("copy", "--no-delete-after", "--delete-after is off unless it is given"),
        ("copy", "--no-dry-run", "--dry-run is off unless it is given; leave --no-dry-run out"),
        ("copy", "--no-inplace", "--inplace is off unless it is given"),
        ("copy", "--no-backup", "--backup is off unless it is given"),
        ("copy", "--no-update", "--update is off unless it is given"),
        ("copy", "--no-checksum", "--checksum is off unless it is given"),
        ("copy", "--no-verify", "--verify is off unless it is given"),
        ("copy", "--no-remove-source-files", "--remove-source-files is off unless it is given"),
        ("copy", "--no-v", "-v is off unless it is given; leave --no-v out"),
        ("copy", "--no-depth", "--depth has its default unless it is given; leave --no-depth out"),
        ("copy", "--resume", "this is on unless --no-resume is given; leave --resume out"),
        ("copy", "--reserve", "this is on unless --no-reserve is given; leave --reserve out"),
        ("mirror", "--no-delete", "--delete is part of each mirror; pump copy does it only when"),
        ("mirror", "--no-update", "--update is part of each mirror"),
        ("mirror", "--no-checksum", "--checksum is off unless it is given"),
        ("verify", "--no-attributes", "--attributes is off unless it is given"),
        // Habits come first.
        ("copy", "--no-recursive", "folders are always copied with all that is in them"),
        ("copy", "--no-whole-file", "a file that differs is copied whole"),
        ("copy", "--no-W", "a file that differs is copied whole"),
        ("copy", "--no-partial", "--no-resume starts over"),
        ("copy", "--no-compress", "the same without: pump copy a folder"),
    ] {
        let run = home.pump(&[command, flag, "a", "folder"]);
        expect(&run, 2, &[&format!("'{flag}'"), said], &format!("{command} {flag}"));
        assert!(!run.err.contains("similar argument"), "{command} {flag}: {run:?}");
        assert_eq!(home.names(), before, "{command} {flag}: nothing is written");
    }
    let run = home.pump_with(("PUMP_VERIFY", "1"), &["copy", "--no-verify", "a", "new"]);
    expect(&run, 2, &["the environment variable PUMP_VERIFY sets --verify; unset it"], "the environment");
}

#[test]
fn a_typing_error_is_not_answered_with_the_opposite() {
    let home = home();
    for (flag, suggested) in [
        ("--no-delet", None),
        ("--no-verfy", None),
        ("--no-presrve", Some("'--no-preserve'")),
        ("--no-rserve", Some("'--no-reserve'")),
        ("--delet", Some("'--delete'")),
    ] {
        let run = home.pump(&["copy", flag, "a", "new"]);
        expect(&run, 2, &[flag], flag);
        match suggested {
            Some(other) => assert!(run.err.contains(other), "{flag}: {run:?}"),
            None => {
                let is_opposite = ["'--delete'", "'--verify'"].iter().any(|other| run.err.contains(other));
                assert!(!is_opposite, "{flag}: {run:?}");
            }
        }
    }
}

#[test]
fn more_flags_of_rsync_have_an_answer() {
    let home = home();
    for (flag, said) in [
        ("--ignore-errors", "nothing is deleted where something could not be copied"),
        ("--munge-links", "--safe-links"),
        ("--no-i-r", "listed while files are copied"),
        ("--stop-after=10", "timeout -s INT 60m pump copy"),
        ("--address=::1", "pump serve --listen ADDRESS:PORT"),
        ("--read-batch=x", "one copy for each target"),
        ("--write-batch=x", "one copy for each target"),
        ("--outbuf=L", "no choice of buffering"),
        ("--checksum-choice=md5", "BLAKE3"),
        ("--cc=md5", "BLAKE3"),
        ("--checksum-seed=1", "BLAKE3"),
        ("--no-implied-dirs", "keep their mode, owner and times"),
        ("--no-R", "names of --files-from keep their paths"),
        ("--no-h", "--json has bytes"),
        ("--protocol=30", "settle the protocol"),
        ("--sockopts=x", "--socket-buffer SIZE"),
        ("--blocking-io", "leave it out"),
        ("--stderr=all", "standard error"),
        ("--trust-sender", "always checked"),
        ("--old-args", "host:'*.log'"),
        ("--zc=zstd", "nothing is compressed"),
        ("--zl=3", "nothing is compressed"),
        ("--max-alloc=1G", "--request-size"),
        ("--no-motd", "no message of the day"),
    ] {
        let run = home.pump(&["copy", flag, "a", "new"]);
        expect(&run, 2, &[said], flag);
        assert!(!run.err.contains("similar argument"), "{flag}: {run:?}");
    }
}
