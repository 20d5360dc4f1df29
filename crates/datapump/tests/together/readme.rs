//! The program that README shows: it ends with a status that says whether the copy was made.

use std::process::{Command, Output};

use datapump::{Job, Place};

#[allow(dead_code)]
mod shown {
    include!("readme_program.txt");

    pub fn run() {
        main();
    }
}

const README: &str = include_str!("../../../../README.md");
const IS_PROGRAM: &str = "DATAPUMP_TEST_IS_PROGRAM";
const SHOWN: &str = include_str!("readme_program.txt");

/// The program ends its process: it runs in one that the test below starts.
#[test]
fn program_of_the_readme() {
    if std::env::var_os(IS_PROGRAM).is_some() {
        shown::run();
        std::process::exit(0);
    }
}

fn program(folder: &std::path::Path) -> Output {
    let mut command = Command::new(std::env::current_exe().expect("it has a name"));
    command.args(["--exact", "readme::program_of_the_readme", "--nocapture"]).current_dir(folder);
    command.env(IS_PROGRAM, "1").output().expect("it can be started")
}

#[test]
fn the_program_of_the_readme_fails_where_the_copy_does() {
    assert!(README.contains(&format!("```rust\n{SHOWN}```")), "README shows it as it is");
    let folder = tempfile::tempdir().expect("room");
    let missing = program(folder.path());
    let said = String::from_utf8_lossy(&missing.stderr);
    assert!(missing.status.code() == Some(1) && said.contains("open 'in.bin'"), "{missing:?}");
    std::fs::write(folder.path().join("in.bin"), "some bytes").expect("room");
    let copied = program(folder.path());
    assert_eq!(copied.status.code(), Some(0), "{copied:?}");
    assert_eq!(std::fs::read(folder.path().join("out.bin")).expect("the copy"), b"some bytes");
}

#[test]
fn a_job_that_failed_has_its_report_and_the_first_problem() {
    let folder = tempfile::tempdir().expect("room");
    let at = |name: &str| Place::Path(folder.path().join(name));
    std::fs::write(folder.path().join("one"), "1").expect("room");
    std::fs::create_dir(folder.path().join("into")).expect("room");
    let job = Job::copy(vec![at("first"), at("one"), at("second")], at("into"));
    let failed = job.run(&|_| {}).expect_err("two are missing");
    assert_eq!((failed.report.exit_status, failed.report.files), (23, 1));
    let words = failed.to_string();
    assert!(
        words.starts_with("open '") && words.contains("first'") && words.ends_with("; 1 more"),
        "{words}"
    );
    let differ = Job::compare(at("one"), Place::Path("/dev/null".into())).run(&|_| {});
    assert!(differ.is_err_and(|failed| failed.report.exit_status != 0));
    assert!(Job::compare(at("one"), at("one")).run(&|_| {}).is_ok_and(|report| report.exit_status == 0));
}
