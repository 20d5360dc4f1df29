//! `-a`, `-d`, `--links` of another host: what symbolic links that are named there are copied as.

use std::fs;

use crate::hosts::doctor;
use crate::links::symbolic::{NAMED_KEPT, home_of_named, kinds, words_of};
use crate::support::two_hosts::{TwoHosts, Way};
use crate::support::{Home, expect, make_folder, make_symlink};

const WAYS: [Way; 2] = [Way::Pulled, Way::PulledBySsh];

/// A host from which the links of `served` are pulled.
fn remote_links() -> Home {
    let home = home_of_named();
    expect(&home.pump(&["copy", "dir/", "served"]), 0, &[], "to be pulled");
    make_symlink(&home, "../dir/plain", "served/out");
    home
}

#[test]
fn links_that_are_named_are_pulled_as_links() {
    let names = ["alias", "dangling", "latest", "plain", "v1"];
    for way in WAYS {
        let (home, row) = (&remote_links(), format!("{way:?}"));
        let far = TwoHosts::new(home, way);
        let pull =
            |flags: &[&str], names: &[&str], to: &str| far.pump(&[&["copy"], flags].concat(), names, to);
        for flag in ["-a", "-d", "--links"] {
            expect(&pull(&[flag], &names, "backup/"), 0, &[], &row);
            assert_eq!(kinds(home, "backup"), NAMED_KEPT, "{row} {flag}");
            assert_eq!(words_of(home, "backup/latest"), "v1", "{row} {flag}");
            assert_eq!(words_of(home, "backup/dangling"), "nowhere", "{row} {flag}");
            let again = pull(&[flag, "--update", "-i"], &names, "backup/");
            expect(&again, 0, &["Nothing to do"], &row);
            assert_eq!(again.out, "", "{row} {flag}");
            fs::remove_dir_all(home.path("backup")).expect("it is there");
            make_folder(home, "backup");
        }
        let run = pull(&["-a", "-n"], &["latest"], "other");
        expect(&run, 0, &["dry run"], &row);
        assert!(!home.path("other").is_symlink(), "{row}");
        let run = pull(&["-a", "-i"], &["latest"], "other");
        expect(&run, 0, &["other"], &row);
        assert!(run.out.contains("-> v1"), "{row}: {run:?}");
        assert_eq!(words_of(home, "other"), "v1", "{row}");
        expect(&pull(&["-a", "--backup"], &["dangling"], "other"), 0, &[], &row);
        assert_eq!((words_of(home, "other"), words_of(home, "other~")), ("nowhere".into(), "v1".into()));
        // There is one simple backup, and a folder of backups is heeded.
        expect(&pull(&["-a", "--backup"], &["alias"], "other"), 0, &[], &row);
        assert_eq!((words_of(home, "other"), words_of(home, "other~")), ("plain".into(), "nowhere".into()));
        expect(&pull(&["-a", "--backup-dir=kept"], &["latest"], "other"), 0, &[], &row);
        assert_eq!((words_of(home, "other"), words_of(home, "kept/other")), ("v1".into(), "plain".into()));
        assert!(!home.path("other.~1~").is_symlink(), "{row}");
        // Where it leads does not matter to a link.
        expect(&pull(&["-a"], &["out"], "backup"), 0, &[], &row);
        assert_eq!(words_of(home, "backup/out"), "../dir/plain", "{row}");
    }
}

#[test]
fn links_that_are_named_are_pulled_as_what_they_lead_to_otherwise() {
    for way in WAYS {
        let (home, row) = (&remote_links(), format!("{way:?}"));
        let far = TwoHosts::new(home, way);
        let pull =
            |flags: &[&str], names: &[&str], to: &str| far.pump(&[&["copy"], flags].concat(), names, to);
        for (flags, name, target) in
            [(&[][..], "latest", "one"), (&["-a"], "latest/", "two"), (&["-r"], "latest", "three")]
        {
            expect(&pull(flags, &[name], target), 0, &[], &row);
            assert_eq!(kinds(home, target), ["f file"], "{row} {flags:?}");
        }
        expect(&pull(&[], &["dangling"], "backup"), 1, &["No such file"], &row);
        let run = pull(&["-a"], &["alias"], "-");
        assert_eq!((run.status, run.out.as_str()), (0, "plain"), "{row}: {run:?}");
        if way == Way::Pulled {
            let run = pull(&[], &["out"], "backup");
            assert!(run.status != 0 && !home.path("backup/out").exists(), "it lies outside: {run:?}");
        } else {
            expect(&pull(&["-a"], &["l*"], "backup"), 0, &[], "a pattern");
            assert_eq!(kinds(home, "backup"), ["l latest"]);
            expect(&pull(&["-a", "-L"], &["latest"], "four"), 0, &[], "-L");
            assert_eq!(kinds(home, "four"), ["f file"]);
        }
    }
}

#[test]
fn a_link_is_not_pulled_over_what_would_be_lost() {
    for way in WAYS {
        let (home, row) = (&remote_links(), format!("{way:?}"));
        let far = TwoHosts::new(home, way);
        let pull =
            |flags: &[&str], names: &[&str], to: &str| far.pump(&[&["copy"], flags].concat(), names, to);
        make_folder(home, "into");
        make_folder(home, "into/latest");
        fs::write(home.path("into/latest/own"), "own").expect("room");
        fs::write(home.path("into/plain"), "other").expect("room");
        let run = pull(&["-a"], &["latest"], "into");
        assert!(run.status != 0 && run.err.contains("is a folder that is not empty"), "{row}: {run:?}");
        assert_eq!(fs::read(home.path("into/latest/own")).expect("it stays"), b"own", "{row}");
        for (flags, name, target, said) in [
            // The other host is this one.
            (&["-a"][..], "alias", "served/plain", "leads to"),
            (&["-a"], "alias", "served", "is the same file"),
            (&["-a"], "latest", "/dev/null", "is a device"),
            (&["-a"], "latest", "new/", "not a directory"),
            (&["-a", "-T"], "latest", "backup", "is a folder, and -T"),
            (&["-a", "--safe-links"], "out", "new", "leads out of its folder"),
        ] {
            let run = pull(flags, &[name], target);
            expect(&run, 2, &[said], &format!("{row} {target}"));
            assert!(!home.path("new").exists() && !home.path("new").is_symlink(), "{row} {target}");
        }
        for (file, content) in [("served/plain", "plain"), ("dir/plain", "plain"), ("into/plain", "other")] {
            assert_eq!(fs::read(home.path(file)).expect("it stays"), content.as_bytes(), "{row}");
        }
        assert_eq!(words_of(home, "served/alias"), "plain", "{row}");
        expect(&pull(&["-a", "--safe-links"], &["alias"], "new"), 0, &[], &row);
        assert_eq!(words_of(home, "new"), "plain", "{row}");
    }
}

#[test]
fn an_older_pump_that_would_follow_a_link_is_refused() {
    let home = home_of_named();
    let address = doctor::serve(None, doctor::Peer::Serves);
    let place = format!("pump://{address}/latest");
    let run = home.pump(&["copy", "--insecure", "-a", &place, "backup/"]);
    expect(&run, 5, &["is older and follows symbolic links", "leave out -a"], "older");
    assert_eq!(kinds(&home, "backup"), [""; 0]);
}
