//! `-a`, `-d`, `--links` of another host: what symbolic links that are named there are copied as.

use std::fs;

use crate::hosts::doctor;
use crate::links::symbolic::{NAMED_KEPT, home_of_named, kinds, words_of};
use crate::support::programs::script;
use crate::support::serving::Serving;
use crate::support::{Home, Outcome, PUMP, expect, make_folder, make_symlink};

/// A host from which the links of `served` are pulled: one that is called, or one that ssh reaches.
struct FarLinks {
    serving: Option<Serving>,
    home: Home,
}

impl FarLinks {
    fn new(is_called: bool) -> FarLinks {
        let home = home_of_named();
        expect(&home.pump(&["copy", "dir/", "served"]), 0, &[], "to be pulled");
        make_symlink(&home, "../dir/plain", "served/out");
        script(home.path("rsh"), "shift; exec sh -c \"$*\"");
        let serving = is_called.then(|| Serving::new(&home, &[]));
        FarLinks { serving, home }
    }

    fn pull(&self, flags: &[&str], names: &[&str], target: &str) -> Outcome {
        let served = self.home.path("served").display().to_string();
        let place = |name: &&str| match &self.serving {
            Some(serving) => serving.at(name),
            None => format!("host:{served}/{name}"),
        };
        let places: Vec<String> = names.iter().map(place).collect();
        let reached = match self.serving {
            Some(_) => &["--ticket-file", "ticket"][..],
            None => &["--ssh=./rsh", "--remote-bin", PUMP],
        };
        let words = ["copy"].into_iter().chain(reached.iter().copied()).chain(flags.iter().copied());
        let all: Vec<&str> = words.chain(places.iter().map(String::as_str)).chain([target]).collect();
        self.home.pump(&all)
    }
}

#[test]
fn links_that_are_named_are_pulled_as_links() {
    let names = ["alias", "dangling", "latest", "plain", "v1"];
    for is_called in [true, false] {
        let far = FarLinks::new(is_called);
        let (home, row) = (&far.home, format!("called: {is_called}"));
        for flag in ["-a", "-d", "--links"] {
            expect(&far.pull(&[flag], &names, "backup/"), 0, &[], &row);
            assert_eq!(kinds(home, "backup"), NAMED_KEPT, "{row} {flag}");
            assert_eq!(words_of(home, "backup/latest"), "v1", "{row} {flag}");
            assert_eq!(words_of(home, "backup/dangling"), "nowhere", "{row} {flag}");
            let again = far.pull(&[flag, "--update", "-i"], &names, "backup/");
            expect(&again, 0, &["Nothing to do"], &row);
            assert_eq!(again.out, "", "{row} {flag}");
            fs::remove_dir_all(home.path("backup")).expect("it is there");
            make_folder(home, "backup");
        }
        let run = far.pull(&["-a", "-n"], &["latest"], "other");
        expect(&run, 0, &["dry run"], &row);
        assert!(!home.path("other").is_symlink(), "{row}");
        let run = far.pull(&["-a", "-i"], &["latest"], "other");
        expect(&run, 0, &["other"], &row);
        assert!(run.out.contains("-> v1"), "{row}: {run:?}");
        assert_eq!(words_of(home, "other"), "v1", "{row}");
        expect(&far.pull(&["-a", "--backup"], &["dangling"], "other"), 0, &[], &row);
        assert_eq!((words_of(home, "other"), words_of(home, "other~")), ("nowhere".into(), "v1".into()));
        // There is one simple backup, and a folder of backups is heeded.
        expect(&far.pull(&["-a", "--backup"], &["alias"], "other"), 0, &[], &row);
        assert_eq!((words_of(home, "other"), words_of(home, "other~")), ("plain".into(), "nowhere".into()));
        expect(&far.pull(&["-a", "--backup-dir=kept"], &["latest"], "other"), 0, &[], &row);
        assert_eq!((words_of(home, "other"), words_of(home, "kept/other")), ("v1".into(), "plain".into()));
        assert!(!home.path("other.~1~").is_symlink(), "{row}");
        // Where it leads does not matter to a link.
        expect(&far.pull(&["-a"], &["out"], "backup"), 0, &[], &row);
        assert_eq!(words_of(home, "backup/out"), "../dir/plain", "{row}");
    }
}

#[test]
fn links_that_are_named_are_pulled_as_what_they_lead_to_otherwise() {
    for is_called in [true, false] {
        let far = FarLinks::new(is_called);
        let (home, row) = (&far.home, format!("called: {is_called}"));
        for (flags, name, target) in
            [(&[][..], "latest", "one"), (&["-a"], "latest/", "two"), (&["-r"], "latest", "three")]
        {
            expect(&far.pull(flags, &[name], target), 0, &[], &row);
            assert_eq!(kinds(home, target), ["f file"], "{row} {flags:?}");
        }
        expect(&far.pull(&[], &["dangling"], "backup"), 1, &["No such file"], &row);
        let run = far.pull(&["-a"], &["alias"], "-");
        assert_eq!((run.status, run.out.as_str()), (0, "plain"), "{row}: {run:?}");
        if is_called {
            let run = far.pull(&[], &["out"], "backup");
            assert!(run.status != 0 && !home.path("backup/out").exists(), "it lies outside: {run:?}");
        } else {
            expect(&far.pull(&["-a"], &["l*"], "backup"), 0, &[], "a pattern");
            assert_eq!(kinds(home, "backup"), ["l latest"]);
            expect(&far.pull(&["-a", "-L"], &["latest"], "four"), 0, &[], "-L");
            assert_eq!(kinds(home, "four"), ["f file"]);
        }
    }
}

#[test]
fn a_link_is_not_pulled_over_what_would_be_lost() {
    for is_called in [true, false] {
        let far = FarLinks::new(is_called);
        let (home, row) = (&far.home, format!("called: {is_called}"));
        make_folder(home, "into");
        make_folder(home, "into/latest");
        fs::write(home.path("into/latest/own"), "own").expect("room");
        fs::write(home.path("into/plain"), "other").expect("room");
        let run = far.pull(&["-a"], &["latest"], "into");
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
            let run = far.pull(flags, &[name], target);
            expect(&run, 2, &[said], &format!("{row} {target}"));
            assert!(!home.path("new").exists() && !home.path("new").is_symlink(), "{row} {target}");
        }
        for (file, content) in [("served/plain", "plain"), ("dir/plain", "plain"), ("into/plain", "other")] {
            assert_eq!(fs::read(home.path(file)).expect("it stays"), content.as_bytes(), "{row}");
        }
        assert_eq!(words_of(home, "served/alias"), "plain", "{row}");
        expect(&far.pull(&["-a", "--safe-links"], &["alias"], "new"), 0, &[], &row);
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
