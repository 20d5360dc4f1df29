//! The kept page is what the headers give, and a cell is short.

use super::*;

#[test]
fn the_page_is_what_the_headers_give() {
    let root = crate::root();
    let kept = fs::read_to_string(root.join(PAGE)).expect("the page");
    let page = page(&root).expect("the headers");
    let differs = page.lines().zip(kept.lines()).find(|(new, kept)| new != kept);
    assert!(page == kept, "{PAGE} is out of date: run `cargo xtask rooms`; first difference: {differs:?}");
}

#[test]
fn no_cell_is_long() {
    let page = page(&crate::root()).expect("the headers");
    for line in page.lines().filter(|line| line.starts_with("| `")) {
        let cell = line.split(" | ").nth(1).expect("two cells").trim_end_matches(" |");
        assert!(fits(cell) && !cell.is_empty(), "the first sentence of this header is too long: {line}");
    }
}

#[test]
fn a_cell_is_the_first_sentence() {
    for (header, expected) in [
        ("//! Walks. Must not know: clocks.\n", "Walks."),
        ("//! Walks\n//! far.\n//!\n//! Must not know: clocks.\n", "Walks far."),
        ("//! Reads a.b and c.d, e.g. of [`Walk`].\n", "Reads a.b and c.d, e.g. of `Walk`."),
        ("//! Walks\nuse std::fs;\n", "Walks"),
        ("use std::fs;\n", ""),
    ] {
        assert_eq!(cell(header), expected, "{header}");
    }
}

#[test]
fn a_long_sentence_is_cut_where_it_pauses() {
    let twenty = ["word"; 20].join(" ");
    for (header, expected) in [
        (format!("//! {twenty} (one, two, three, four, five, six).\n"), format!("{twenty}.")),
        (format!("//! {twenty}: one, two three four five six.\n"), format!("{twenty}: one.")),
        (format!("//! {twenty} a b c d e f.\n"), format!("{twenty} a b c d e f.")),
    ] {
        assert_eq!(cell(&header), expected);
    }
}
