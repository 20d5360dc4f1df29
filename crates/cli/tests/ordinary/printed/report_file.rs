//! `--report`: the report as one line of JSON in a file, of every copy that ends, and never over something else.

use serde_json::Value;

use crate::support::serving::Serving;
use crate::support::{Home, expect, make_folder, make_symlink, noise_file, schema};

fn pump(home: &Home, line: &str) -> crate::support::Outcome {
    home.pump(&line.split_whitespace().collect::<Vec<&str>>())
}

/// The report that a file holds, which is the only line in it.
fn kept(home: &Home, row: &str) -> Value {
    let line = std::fs::read_to_string(home.path("kept")).expect(row);
    assert_eq!(line.matches('\n').count(), 1, "{row}: {line}");
    schema::checked(&line).remove(0)
}

#[test]
fn every_copy_that_ends_leaves_its_report() {
    let home = Home::new();
    noise_file(&home, "source", 100_000, 1);
    make_folder(&home, "served");
    let serving = Serving::new(&home, &[]);
    let far = serving.at("source");
    let rows = [
        ("copy -q --report kept source copied".to_string(), 0, 100_000),
        (format!("copy --ticket-file ticket --report kept source {far}"), 0, 100_000),
        ("explain --report kept source null:".into(), 0, 100_000),
        ("mirror --report kept missing copied".into(), 1, 0),
        ("copy --report kept -T source source".into(), 2, 0),
    ];
    for (line, status, bytes) in &rows {
        let run = pump(&home, line);
        assert_eq!(run.status, *status, "{line}: {}", run.err);
        assert!(!run.out.contains("\"event\""), "{line}: {}", run.out);
        let report = kept(&home, line);
        assert_eq!(report["exit_status"], *status, "{line}");
        assert_eq!(report["bytes"], *bytes, "{line}");
    }
}

#[test]
fn it_is_the_last_line_of_json_too() {
    let home = Home::new();
    noise_file(&home, "source", 10, 1);
    let run = pump(&home, "copy --json --report kept source copied");
    let kept = kept(&home, "of a copy");
    assert_eq!(schema::checked(&run.out).last(), Some(&kept));
    assert_eq!(kept["exit_status"], 0);
}

#[test]
fn what_is_no_report_stays() {
    let home = Home::new();
    noise_file(&home, "source", 10, 1);
    noise_file(&home, "kept", 10, 2);
    let run = pump(&home, "copy --report kept source copied");
    expect(&run, 2, &["--report 'kept': it holds something else than a report; name a new file"], "another");
    assert_eq!(std::fs::read(home.path("kept")).expect("it stays").len(), 10);
    assert!(!home.path("copied").exists(), "nothing was copied");
    let run = pump(&home, "copy --report missing/kept source copied");
    expect(&run, 1, &["missing/kept"], "no such folder");
    let run = pump(&home, "copy --report /dev/full source copied");
    expect(&run, 1, &["/dev/full", "No space left"], "nothing can be written");
    assert!(home.path("copied").exists(), "the copy is whole");
    let run = pump(&home, "explain --pid 1 --report kept");
    expect(&run, 2, &["--pid watches a process and copies nothing; leave --report out"], "a process");
}

#[test]
fn it_is_nothing_that_is_copied_and_no_copy() {
    let home = Home::new();
    make_folder(&home, "folder");
    noise_file(&home, "folder/source", 10, 1);
    noise_file(&home, "source", 10, 1);
    assert_eq!(pump(&home, "copy --report kept source copied").status, 0);
    let before = kept(&home, "of a copy");
    make_symlink(&home, "kept", "other");
    for line in
        ["copy --report kept kept new", "copy --report other kept new", "copy --report new source new"]
    {
        let run = pump(&home, line);
        expect(&run, 2, &["a report cannot be what is copied, its copy or that of another flag"], line);
        assert!(!home.path("new").exists(), "{line}");
    }
    assert_eq!(kept(&home, "it stays"), before);
    make_folder(&home, "copy");
    std::fs::write(home.path("list"), "").expect("room");
    for line in [
        "copy --report copy/source source copy",
        "copy --inplace --report copy/source source copy",
        "copy --report copy/source --target-directory copy source",
        "copy --report copy/source http://127.0.0.1:1/a/source copy",
        "copy --report copy/source 127.0.0.1:source copy",
        "copy --exclude-from list --report list folder copy",
        "copy --files-from list --report list folder copy",
    ] {
        let run = pump(&home, line);
        expect(&run, 2, &["a report cannot be what is copied, its copy or that of another flag"], line);
        assert!(!home.path("copy/source").exists(), "{line}");
    }
    // A name of a folder that is copied is met on the way: the file that is written stays.
    let line = "copy -T --report copy/source folder copy";
    let run = pump(&home, line);
    expect(&run, 23, &["copy/source', which is written beside the copy"], line);
    assert!(
        std::fs::read(home.path("copy/source")).expect("it is there").starts_with(b"{"),
        "{line}: it is the report"
    );
}

#[test]
fn delete_leaves_the_files_that_are_written_beside_the_copy() {
    for flag in ["--report", "--log-file"] {
        let home = Home::new();
        for folder in ["folder", "copy", "copy/sub"] {
            make_folder(&home, folder);
        }
        for file in ["folder/source", "copy/other"] {
            noise_file(&home, file, 10, 1);
        }
        make_symlink(&home, "copy/sub", "way");
        for (line, file) in [
            (format!("mirror -n {flag} copy/kept folder copy"), "copy/kept"),
            (format!("mirror {flag} copy/kept folder copy"), "copy/kept"),
            (format!("copy --delete {flag} way/kept folder/ copy"), "copy/sub/kept"),
            (
                format!("copy --delete --exclude=kept --delete-excluded {flag} copy/kept folder/ copy"),
                "copy/kept",
            ),
        ] {
            std::fs::create_dir_all(home.path("copy/sub")).expect("room");
            let run = pump(&home, &line);
            expect(&run, 0, &[], &line);
            assert!(home.path(file).is_file(), "{line}");
            assert_eq!(home.path("copy/other").exists(), line.contains(" -n "), "{line}");
        }
        for line in [
            format!("mirror --exclude=kept {flag} copy/kept folder copy"),
            format!("mirror --exclude=/sub {flag} copy/sub/kept folder copy"),
            format!("mirror {flag} kept folder copy"),
        ] {
            std::fs::create_dir_all(home.path("copy/sub")).expect("room");
            expect(&pump(&home, &line), 0, &[], &line);
        }
    }
}
