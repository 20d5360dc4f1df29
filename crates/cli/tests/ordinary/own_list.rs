//! Targets of one command that lie in one another: the list of the copy itself is of no other copy.

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
