//! `pump lab reproduce`: which documents there are, one part of one redone with its picture, rows and forecast, and what is
//! refused.

use crate::support::{Home, expect, schema};

#[test]
fn documents_are_listed_with_their_length_and_needs() {
    let home = Home::new();
    let run = home.pump(&["lab", "reproduce", "--list"]);
    expect(
        &run,
        0,
        &["datapump: ", "access: ", "readers: ", "seqio: ", "end-systems: ", "needs root"],
        "the list",
    );
    let events = schema::checked(&home.pump(&["lab", "reproduce", "--list", "--json"]).out);
    let names: Vec<&str> =
        events.iter().filter(|it| it["event"] == "document").filter_map(|it| it["name"].as_str()).collect();
    assert_eq!(names, ["access", "datapump", "readers", "seqio", "end-systems"]);
    for (words, status, part) in [
        (&["lab", "reproduce"][..], 2, "NAME"),
        (&["lab", "reproduce", "datapump"], 2, "--out"),
        (&["lab", "reproduce", "pump", "-o", "page"], 1, "there is no document 'pump'; there are access"),
        (
            &["lab", "reproduce", "datapump", "--only", "table-9", "-o", "page"],
            1,
            "'table-9' is no part of it",
        ),
    ] {
        expect(&home.pump(words), status, &[part], &format!("{words:?}"));
        assert!(!home.path("page/index.html").exists(), "{words:?}");
    }
}

#[test]
fn one_part_is_run_once_and_all_are_on_the_page() {
    let home = Home::new();
    let words =
        ["lab", "reproduce", "datapump", "--quick", "--only", "null-time", "--keep-disturbed", "-o", "page"];
    let run = home.pump(&words);
    expect(&run, 0, &["page/index.html"], "the page");
    let read = |name: &str| {
        std::fs::read_to_string(home.path(name)).unwrap_or_else(|wrong| panic!("{name}: {wrong}"))
    };
    let page = read("page/index.html");
    for part in [
        "<h2>section 3.1: ",
        "<h2>section 3.2, table 1: ",
        "Published: datapump_table5_local_copy.csv",
        "<svg",
    ] {
        assert!(page.contains(part), "no {part}");
    }
    assert!(read("page/figures/null-time.svg").starts_with("<svg"));
    assert!(read("page/rows/null.csv").starts_with("time,round,outcome,disturbed,"));
    let rows = read("page/rows/null.jsonl");
    assert!(!home.path("page/rows/table-1.jsonl").exists(), "another part was run");
    let again = home.pump(&words);
    expect(&again, 0, &["page/index.html"], "again");
    assert_eq!(read("page/rows/null.jsonl"), rows, "rows that are there are not measured again");
    std::fs::write(home.path("page/figures/null-time.svg"), "mine").expect("room");
    expect(&home.pump(&words), 1, &["null-time.svg is there and is no picture"], "a file of the user's");
    std::fs::remove_file(home.path("page/figures/null-time.svg")).expect("it is there");
    let json = home.pump(&[&words[..], &["--json"]].concat());
    let events = schema::checked(&json.out);
    assert_eq!((&events[0]["event"], &events[0]["document"]), (&"reproduced".into(), &"datapump".into()));
}
