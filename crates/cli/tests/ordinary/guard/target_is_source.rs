//! Copies of several sources, of which one would be written over another: refused before anything is written.

use crate::support::listing::listing;
use crate::support::{Home, expect, has_content, make_folder, make_symlink};

/// Sources `s/x`, `s/t` and `s/f` with `s/f/t` in it, an empty folder `l`, each file with its path as its content.
fn sources() -> Home {
    let home = Home::new();
    for folder in ["s", "s/f", "s/f/g", "l"] {
        make_folder(&home, folder);
    }
    for file in ["s/x", "s/t", "s/f/t", "s/f/g/t"] {
        std::fs::write(home.path(file), file).expect("room for a file");
    }
    home
}

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

/// With these flags, or without, nothing is written.
fn refused(home: &Home, operands: &str, part: &str) {
    let before = listing(&home.path(""));
    for flags in ["", "-n ", "-a ", "--inplace ", "--update=differs ", "--lanes=3 "] {
        // A folder is never copied in place.
        if flags == "--inplace " && operands.contains("s/f") {
            continue;
        }
        let line = format!("copy {flags}{operands}");
        let run = home.pump(&words(&line));
        expect(&run, 2, &[part], &line);
        let said = run.err.lines().filter(|line| !line.starts_with("dry run: "));
        assert_eq!(said.count(), 1, "{line}: {run:?}");
        assert_eq!(listing(&home.path("")), before, "{line}: nothing is written");
    }
}

#[test]
fn a_link_to_another_source_is_refused() {
    let home = sources();
    make_symlink(&home, "../s/t", "l/x");
    let part = "'l/x': is a symbolic link, and what it leads to is the same file as the source 's/t'";
    for operands in ["s/x s/t l", "s/t s/x l", "s/x s/t l/", "s/f s/x s/t l"] {
        refused(&home, operands, part);
    }
    refused(&home, "s/x ./s/t l", "what it leads to is the same file as the source './s/t'");
    // The other source goes on to be copied once the link has gone.
    std::fs::remove_file(home.path("l/x")).expect("the link");
    expect(&home.pump(&words("copy s/x s/t l")), 0, &[], "without the link");
    has_content(&home.path("l/x"), b"s/x", "without the link");
    has_content(&home.path("l/t"), b"s/t", "without the link");
}

#[test]
fn a_link_to_another_source_by_other_links_is_refused() {
    let home = sources();
    make_symlink(&home, "other", "l/x");
    make_symlink(&home, "../s/t", "l/other");
    refused(
        &home,
        "s/x s/t l",
        "'l/x': is a symbolic link, and what it leads to is the same file as the source 's/t'",
    );
    make_symlink(&home, "l/x", "z");
    let line = "copy s/x z l";
    let part = "what it leads to is what the source 'z' leads to; choose another name";
    expect(&home.pump(&words(line)), 2, &[part, "one by one"], line);
}

#[test]
fn a_link_into_a_source_folder_is_refused() {
    for to in ["../s/f/t", "../s/f/g/t"] {
        let home = sources();
        make_symlink(&home, to, "l/x");
        let part = "'l/x': is a symbolic link, and what it leads to lies in the source 's/f'; choose another name for";
        for operands in ["s/x s/f l", "s/f s/x l"] {
            refused(&home, operands, part);
        }
    }
}

#[test]
fn a_link_to_what_is_not_copied_is_followed() {
    for (line, to) in [("copy s/x s/t l", "s/f/t"), ("copy --exclude t s/x s/t l", "s/t")] {
        let home = sources();
        make_symlink(&home, &format!("../{to}"), "l/x");
        expect(&home.pump(&words(line)), 0, &[], line);
        has_content(&home.path(to), b"s/x", line);
        assert!(home.path("l/x").is_symlink(), "{line}: the link stays");
    }
    // Only planned: the folder would be copied while a name in it is replaced.
    for (line, to) in
        [("copy -n --exclude t s/x s/f l", "../s/f/t"), ("copy -n --exclude g/ s/x s/f l", "../s/f/g/t")]
    {
        let home = sources();
        make_symlink(&home, to, "l/x");
        expect(&home.pump(&words(line)), 0, &[], line);
    }
}

#[test]
fn a_hard_link_of_another_source_is_replaced_and_never_written_into() {
    let home = sources();
    std::fs::hard_link(home.path("s/t"), home.path("l/x")).expect("a hard link");
    let before = listing(&home.path(""));
    for operands in ["s/x s/t l", "s/t s/x l"] {
        let line = format!("copy --inplace {operands}");
        let part = "'l/x': is the same file as the source 's/t', and would be written into while it is";
        expect(&home.pump(&words(&line)), 2, &[part], &line);
        assert_eq!(listing(&home.path("")), before, "{line}: nothing is written");
    }
    // Its number of links changes with that: whoever reads it at that moment tells of a change.
    let run = home.pump(&words("copy s/x s/t l"));
    assert!([0, 24].contains(&run.status), "replaced: {run:?}");
    expect(&home.pump(&words("copy s/x s/t l")), 0, &[], "and again");
    for (name, content) in [("s/x", "s/x"), ("s/t", "s/t"), ("l/x", "s/x"), ("l/t", "s/t")] {
        has_content(&home.path(name), content.as_bytes(), "replaced");
    }
}

#[test]
fn what_another_source_leads_to_is_not_replaced() {
    let home = sources();
    std::fs::write(home.path("l/x"), "l/x").expect("room for a file");
    make_symlink(&home, "l/x", "z");
    let before = listing(&home.path(""));
    for line in ["copy s/x z l", "copy z s/x l", "copy -n s/x z l", "copy --inplace s/x z l"] {
        expect(&home.pump(&words(line)), 2, &["'l/x': is what the source 'z' leads to"], line);
        assert_eq!(listing(&home.path("")), before, "{line}: nothing is written");
    }
}

/// A copy would only part the two names.
#[test]
fn a_hard_link_of_the_source_itself_is_left_alone() {
    let home = sources();
    std::fs::hard_link(home.path("s/x"), home.path("l/x")).expect("a hard link");
    let before = listing(&home.path(""));
    for flags in ["", "-n ", "-a ", "--update=differs ", "--backup ", "--lanes=3 "] {
        for operands in ["s/x l", "l/x s/x", "s/x s/x l"] {
            let line = format!("copy {flags}{operands}");
            expect(&home.pump(&words(&line)), 0, &[], &line);
            assert_eq!(listing(&home.path("")), before, "{line}");
        }
    }
    expect(&home.pump(&words("copy --inplace s/x l")), 2, &["is the same file as the source"], "in place");
}
