//! The list of a copy is of no other copy: where targets of one command lie in one another, and where the target of a
//! copy that was cut lies in the source of another.

use std::fs;

use crate::support::serving::Serving;
use crate::support::{Home, expect, make_folder, noise_file};

#[test]
fn the_list_of_a_run_is_not_taken_for_that_of_another() {
    let home = Home::new();
    for folder in ["a", "b", "t"] {
        make_folder(&home, folder);
    }
    for file in ["a/x", "a/y", "b/z", "f"] {
        noise_file(&home, file, 100, 1);
    }
    make_folder(&home, "t/b");
    for (row, flags) in [("update", "--update"), ("all", "--sync=end"), ("existing", "--ignore-existing")] {
        for round in 0..3 {
            noise_file(&home, "a/x", 100 + round, 1);
            noise_file(&home, "b/z", 100 + round, 2);
            noise_file(&home, "f", 100 + round, 3);
            let words = ["copy", "--lanes=1", flags, "a/", "b", "f", "t"];
            let run = home.pump(&words);
            expect(&run, 0, &[], row);
            assert!(!run.err.contains(".pump-job"), "{row}: {run:?}");
            assert!(!home.path("t/.pump-job").exists() && !home.path("t/b/.pump-job").exists(), "{row}");
        }
    }
}

#[test]
fn lists_of_unfinished_copies_below_a_source_are_skipped() {
    const SKIPPED: &str = "from/sub/.pump-job' is the list of an unfinished copy: it is skipped";
    let home = Home::new();
    for folder in ["from", "from/sub", "served"] {
        make_folder(&home, folder);
    }
    noise_file(&home, "from/sub/file", 100, 1);
    // As one that a kill cut short.
    fs::write(home.path("from/sub/.pump-job"), "").expect("room");
    let serving = Serving::start(home.command(&["serve", ".", "--ticket-file", "ticket"]));
    let (pushed, pulled) = (serving.at("served/pushed"), serving.at("from"));
    for (from, to, copy) in
        [("from", "to", "to"), ("from", &*pushed, "served/pushed"), (&*pulled, "pulled", "pulled")]
    {
        for command in ["copy", "mirror"] {
            let words = [command, "-q", "--json", "--ticket-file", "ticket", "-T", from, to];
            let words: Vec<&str> =
                words.into_iter().filter(|word| command == "copy" || *word != "-T").collect();
            let run = home.pump(&words);
            expect(&run, 0, &[SKIPPED, "\"skipped\":1"], to);
            assert!(home.path(copy).join("sub/file").exists(), "{to}");
            assert!(!home.path(copy).join("sub/.pump-job").exists(), "{to}");
        }
        let verified = home.pump(&["verify", "--ticket-file", "ticket", from, to]);
        expect(&verified, 0, &[SKIPPED], to);
        // Where it is too much the copy is no copy.
        let words = "from/sub/.pump-job': is the list of an unfinished copy; run its command again";
        expect(&home.pump(&["verify", "--ticket-file", "ticket", to, from]), 1, &[words], to);
    }
    for source in ["from/sub/.pump-job", &serving.at("from/sub/.pump-job")] {
        expect(&home.pump(&["copy", "--ticket-file", "ticket", source, "named"]), 0, &[SKIPPED], source);
        assert!(!home.path("named").exists(), "{source}");
    }
    // Whatever the bounds of size are: it is none of the user's files.
    fs::write(home.path("from/sub/.pump-job"), "").expect("room");
    for flags in [&["--min-size=1B"][..], &["--max-size=1B", "-n"]] {
        let run = home.pump(&[&["copy"], flags, &["from/", "bounds"]].concat());
        expect(&run, 0, &[SKIPPED], &format!("{flags:?}"));
    }
    // What it remains for is not removed, and a file of the user's is one like any other.
    expect(&home.pump(&["copy", "--remove-source-files", "from/", "moved"]), 0, &[SKIPPED], "moved");
    assert!(home.path("from/sub/.pump-job").exists() && !home.path("from/sub/file").exists());
    fs::write(home.path("from/sub/.pump-job"), "my notes").expect("room");
    let run = home.pump(&["copy", "from/", "to"]);
    expect(&run, 0, &[], "a file");
    assert!(!run.err.contains("is skipped") && home.text("to/sub/.pump-job") == "my notes", "{run:?}");
}
