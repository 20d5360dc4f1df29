//! The kept list is in order and gives the kept page; what is out of order is told.

use super::*;

/// A statement as text; `more` is what it has besides.
fn listed(more: &str) -> Vec<ListedStatement> {
    parse(&format!("[[statement]]\nid = \"S1\"\nsays = \"it holds\"\n{more}\n")).expect("a list")
}

/// A result that says when it came out.
const RESULT: &str = "result = \"1\"\nas_of = \"2026-11-30 0621b78b\"";

/// The errors in it, except the number of statements.
fn told(more: &str) -> Vec<String> {
    let mut told = violations(&listed(&more.replace("result = \"1\"", RESULT)), &crate::root());
    assert_eq!(told.pop().as_deref(), Some("1 statements, and the reference has 70"));
    told
}

#[test]
fn the_page_is_what_the_list_gives() {
    let root = crate::root();
    let list = read(&root).expect("the list");
    let violations = violations(&list, &root);
    assert!(violations.is_empty(), "{LIST}:\n  {}", violations.join("\n  "));
    let page = fs::read_to_string(root.join(PAGE)).expect("the page");
    assert!(page == page::page(&list), "{PAGE} is not what {LIST} gives: run `cargo xtask statements`");
}

#[test]
fn what_is_gone_or_missing_is_told() {
    for (more, complaint) in [
        ("kinds = [\"exact\"]", "S1: name a test or a study, or say why there is none"),
        ("kinds = []\npending = \"later\"", "S1: say how it is checked: `kinds`"),
        ("kinds = [\"exact\"]\npending = \" \"", "S1: a text is empty"),
        ("kinds = [\"exact\"]\npending = \"one\\ntwo\"", "S1: a text has several lines: the page is a table"),
        ("kinds = [\"host\"]\nstudies = [\"cpu\"]", "S1: say what came out: `result`"),
        (
            "kinds = [\"host\"]\nstudies = [\"cpu\"]\nresult = \"2\"\nas_of = \"yesterday 0621b78b\"",
            "S1: say when the result came out, and from which commit: `as_of = \"2026-11-30 0123abcd\"`",
        ),
        (
            "kinds = [\"host\"]\nstudies = [\"gone\"]\nresult = \"1\"",
            "S1: there is no study `gone` (crates/lab/studies/gone.toml)",
        ),
        (
            "kinds = [\"host\"]\nrows = [\"bench/gone.jsonl\"]\nreason = \"why\"",
            "S1: there are no rows `bench/gone.jsonl` below bench/",
        ),
        (
            "kinds = [\"host\"]\nrows = [\"Cargo.toml\"]\nreason = \"why\"",
            "S1: there are no rows `Cargo.toml` below bench/",
        ),
        (
            "kinds = [\"exact\"]\ntests = [\"xtask/src/gone.rs::one\"]\nresult = \"1\"",
            "S1: there is no file `xtask/src/gone.rs`",
        ),
        (
            "kinds = [\"exact\"]\ntests = [\"xtask/src/main.rs::main\"]\nresult = \"1\"",
            "S1: there is no test `main` in xtask/src/main.rs",
        ),
        (
            "kinds = [\"exact\"]\ntests = [\"one\"]\nresult = \"1\"",
            "S1: `one`: write `file::name of the test`",
        ),
    ] {
        assert_eq!(told(more), [complaint], "{more}");
    }
    assert_eq!(told("kinds = [\"exact\"]\nreason = \"nobody can\""), [""; 0]);
    let own = "tests = [\"xtask/src/statements/tests.rs::what_is_gone_or_missing_is_told\"]";
    assert_eq!(told(&format!("kinds = [\"exact\"]\n{own}\nresult = \"1\"")), [""; 0]);
}

#[test]
fn a_mutation_has_one_place_and_fails_a_test_of_its_statement() {
    let own = "xtask/src/statements/tests.rs::a_field_that_is_not_known_is_refused";
    let with = |file: &str, [find, replacement, fails]: [&str; 3]| {
        format!(
            "kinds = [\"exact\"]\nresult = \"1\"\ntests = [\"{own}\"]\n[statement.mutation]\nfile = \"{file}\"\n\
             find = \"{find}\"\nreplacement = \"{replacement}\"\nfails = \"{fails}\""
        )
    };
    for (mutation, complaint) in [
        (["//! Chores of the repository", "//! Nothing", own], None),
        (
            ["nowhere", "here", own],
            Some("S1: its mutation has 0 places in xtask/src/main.rs, not one: `nowhere`"),
        ),
        (["//! Chores", "//! Chores", own], Some("S1: its mutation changes nothing")),
        (["//! Chores", "", "a.rs::b"], Some("S1: its mutation fails `a.rs::b`, which is none of its tests")),
    ] {
        let found = told(&with("xtask/src/main.rs", mutation));
        assert_eq!(found, complaint.into_iter().collect::<Vec<_>>(), "{mutation:?}");
    }
    let page = page::page(&listed(&with("a.rs", ["a | b", "", own]).replace("result = \"1\"", RESULT)));
    let row = "| S1 | [a.rs](../a.rs) | `a \\| b` | nothing | a_field_that_is_not_known_is_refused |\n";
    assert!(page.ends_with(row), "{page}");
}

#[test]
fn statements_stand_once_and_in_order() {
    let mut list = listed("kinds = [\"exact\"]\npending = \"later\"");
    list.extend(listed("kinds = [\"exact\"]\npending = \"later\""));
    let told = violations(&list, &crate::root());
    assert_eq!(told[0], "S1: S2 should stand here: each once, in order");
}

#[test]
fn a_field_that_is_not_known_is_refused() {
    for more in ["kinds = [\"exact\"]\ntest = \"one\"", "kinds = [\"believed\"]"] {
        let text = format!("[[statement]]\nid = \"S1\"\nsays = \"it holds\"\n{more}\n");
        assert!(parse(&text).is_err(), "{more}");
    }
}

#[test]
fn a_test_is_a_function_that_is_marked_as_one() {
    for (text, is_test) in [
        ("#[test]\nfn one() {", true),
        ("    #[test]\n    #[cfg(unix)]\n    /// Why.\n    fn one(a: u8) {", true),
        ("/// Why.\n#[test]\nfn one() {", true),
        ("#[test]\nfn one_more() {", false),
        ("#[test]\nfn other() {}\nfn one() {", false),
        ("// #[test]\n// fn one() {", false),
        ("// #[test]\nfn one() {", false),
        ("fn one() {", false),
    ] {
        assert_eq!(has_test(text, "one"), is_test, "{text}");
    }
}

#[test]
fn a_row_says_what_is_pending_and_keeps_its_columns() {
    let list =
        listed("kinds = [\"golden\", \"host\"]\nstudies = [\"cpu\"]\nresult = \"a | b\"\npending = \"more\"");
    let page = page::page(&list);
    let study = "study [cpu](../crates/lab/studies/cpu.toml)";
    let expected = format!("| S1 | it holds | golden, host | {study} | a \\| b (-); **pending**: more |\n");
    assert!(page.contains(&expected), "{page}");
    assert!(page.contains("Of 1 statements 1 have a test or a study; 1 are pending"), "{page}");
}
