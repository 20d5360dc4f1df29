//! A copy writes onto none of its sources and removes none: refused before anything is written, and only then.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::support::listing::listing;
use crate::support::{Home, expect, has_content, make_folder, make_symlink};

/// Files with their paths as their content, and the folders that they lie in; a path with a slash at its end is one.
fn home(paths: &[&str]) -> Home {
    let home = Home::new();
    for path in paths {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        fs::create_dir_all(home.path(folder)).expect("room for a folder");
        if !path.ends_with('/') {
            fs::write(home.path(path), path).expect("room for a file");
        }
    }
    home
}

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

/// With each of these flags nothing is written.
fn refused(home: &Home, flags: &[&str], operands: &str, parts: &[&str]) {
    let before = listing(&home.path(""));
    for flag in flags {
        let line = ["copy", flag, operands].map(str::trim).join(" ").replace("  ", " ");
        expect(&home.pump(&words(&line)), 2, parts, &line);
        assert_eq!(listing(&home.path("")), before, "{line}: nothing is written");
    }
}

/// It is copied, and these files hold what those held.
fn copied(home: &Home, line: &str, files: &[(&str, &str)]) {
    expect(&home.pump(&words(line)), 0, &[], line);
    for (file, content) in files {
        has_content(&home.path(file), content.as_bytes(), line);
    }
}

const USUAL: [&str; 5] = ["", "-n", "-a", "--update", "--lanes=3"];

#[test]
fn two_targets_that_a_link_makes_one_are_refused() {
    let home = home(&["a", "b", "t/b"]);
    make_folder(&home, "other");
    make_symlink(&home, "../t", "other/t");
    let direct = home.path("t/b");
    for to in ["../t/b", "../other/t/b", direct.to_str().expect("a plain path")] {
        make_symlink(&home, to, "t/a");
        for operands in ["a b t", "b a t", "a b t/", "a b other/t"] {
            refused(&home, &USUAL, operands, &["t/b': is the same place as", "copy them one by one"]);
            refused(&home, &["--remove-source-files", "--inplace"], operands, &["is the same place as"]);
        }
        fs::remove_file(home.path("t/a")).expect("the link");
    }
    copied(&home, "copy --remove-source-files a b t", &[("t/a", "a"), ("t/b", "b")]);
}

#[test]
fn hard_links_at_the_target_are_one_file_only_where_that_is_written_to() {
    let home = home(&["a", "b", "t/a"]);
    fs::hard_link(home.path("t/a"), home.path("t/b")).expect("links");
    refused(&home, &["--inplace", "--inplace -n"], "a b t", &["'t/b': is the same place as 't/a'"]);
    copied(&home, "copy a b t", &[("t/a", "a"), ("t/b", "b")]);
    // Both names have the same content.
    for folder in ["", "t/"] {
        fs::remove_file(home.path(format!("{folder}b"))).expect("it is there");
        fs::hard_link(home.path(format!("{folder}a")), home.path(format!("{folder}b"))).expect("links");
    }
    copied(&home, "copy --inplace --update a b t", &[("t/a", "a"), ("t/b", "a")]);
}

#[test]
fn a_name_of_a_tree_that_another_source_gets_is_refused() {
    let parts = &["two of the sources would get this name, 's/' and 'u/B'", "copy them one by one"];
    for paths in [&["s/B", "u/B", "t/"][..], &["s/B/x", "u/B/x", "t/"], &["s/B/x", "u/B", "t/"]] {
        let home = home(paths);
        for operands in ["s/ u/B t", "u/B s/ t"] {
            refused(&home, &["", "-n", "-a", "--update", "--remove-source-files"], operands, parts);
        }
        refused(&home, &["--delete"], "s/ u/B t", &["copy them one by one"]);
    }
    // A link leads from one to the other.
    let home = home(&["s/sub/y", "u/B", "t/sub/y"]);
    make_symlink(&home, home.path("t/sub/y").to_str().expect("a plain path"), "t/B");
    refused(&home, &USUAL, "s/ u/B t", parts);
    copied(&home, "copy --exclude /sub s/ u/B t", &[("t/sub/y", "u/B")]);
}

/// With each of these flags a source that is named again, or that a tree has as well, is copied once.
#[test]
fn a_source_that_is_given_twice_is_copied_once() {
    for operands in
        ["a/f a/f t", "a/f a/../a/f t", "./a/f a/f t/", "a a t", "a/ ./a/. t", "a/ a/f t", "a/f a/ t"]
    {
        let copy = if operands.starts_with("a a ") { "t/a/f" } else { "t/f" };
        for flags in ["", "-a", "--update", "--lanes=3", "--mkpath"] {
            let home = home(&["a/f", "t/"]);
            let run = home.pump(&words(&format!("copy {flags} {operands}").replace("  ", " ")));
            let told = match operands {
                "a/ a/f t" | "a/f a/ t" => "'a/f' is in 'a/', too: it is copied with that",
                _ => "is given twice: copied once",
            };
            expect(&run, 0, &[told], &format!("{flags} {operands}"));
            has_content(&home.path(copy), b"a/f", operands);
        }
        // Nothing is lost: neither the only copy, nor what was there before.
        let home = home(&["a/f", "old"]);
        fs::create_dir_all(home.path(copy).parent().expect("a folder")).expect("room");
        fs::rename(home.path("old"), home.path(copy)).expect("one folder");
        let kept = format!("{copy}~");
        let line = format!("copy --backup --remove-source-files {operands}");
        copied(&home, &line, &[(copy, "a/f"), (&kept, "old")]);
        assert!(!home.path("a/f").exists(), "{line}");
    }
}

#[test]
fn another_file_of_the_same_content_is_no_source_given_twice() {
    let home = home(&["a/f", "b/", "t/"]);
    fs::hard_link(home.path("a/f"), home.path("b/f")).expect("links");
    let flags = ["", "-n", "-a", "--remove-source-files"];
    for operands in ["a/f b/f t", "a/ b/f t", "b/f a/ t", "a/ b/ t"] {
        refused(&home, &flags, operands, &["two "]);
    }
}

#[test]
fn sources_with_names_of_their_own_are_copied_into_one_folder() {
    let home = home(&["s/C", "u/B", "v/D/x", "t/"]);
    let all = &[("t/B", "u/B"), ("t/C", "s/C"), ("t/D/x", "v/D/x")];
    copied(&home, "copy s/ u/B v/D t", all);
    copied(&home, "copy s/ u/B v/D t", all);
    copied(&home, "copy --exclude /C s/ u/B v/D t", all);
    // Folders of one name are put together, as long as no file has the name of another.
    let home = self::home(&["s/B/sub/x", "u/B/sub/y", "u/B/z", "t/"]);
    copied(
        &home,
        "copy s/ u/B t",
        &[("t/B/sub/x", "s/B/sub/x"), ("t/B/sub/y", "u/B/sub/y"), ("t/B/z", "u/B/z")],
    );
    fs::write(home.path("u/B/sub/x"), "other").expect("room");
    refused(&home, &USUAL, "s/ u/B t", &["two of the sources would get this name, 's/' and 'u/B'"]);
}

#[test]
fn a_source_where_a_tree_would_write_is_refused() {
    for (source, is_link) in [("l/d/f", false), ("link", true)] {
        let home = home(&["d/f", "d/g", "l/d/f"]);
        if is_link {
            make_symlink(&home, "l/d/f", "link");
        }
        let parts =
            &["'l/d/f': is the source '", "and the copy of 'd' would write over it; copy that source first"];
        for operands in [format!("d {source} l"), format!("{source} d l"), format!("./d ./{source} l/")] {
            let parts = if operands.starts_with("./") { &parts[..1] } else { &parts[..] };
            refused(&home, &["", "-n", "--update", "--lanes=3", "--remove-source-files"], &operands, parts);
        }
        copied(&home, &format!("copy --exclude /d/f d {source} l"), &[("l/d/f", "l/d/f"), ("l/d/g", "d/g")]);
        copied(&home, &format!("copy --ignore-existing d {source} l"), &[("l/d/f", "l/d/f")]);
    }
}

#[test]
fn a_folder_where_a_tree_would_write_is_no_source_beside_it() {
    let home = home(&["d/sub/f", "l/d/sub/f", "l/d/own/f"]);
    let part = "'l/d/sub': is the source 'l/d/sub', and the copy of 'd' would write over it";
    refused(&home, &USUAL, "d l/d/sub l", &[part]);
    refused(&home, &USUAL, "l/d/sub/f d l", &["'l/d/sub/f': is the source 'l/d/sub/f'"]);
    refused(&home, &USUAL, "d l/d/. l", &["'l/d': is the source 'l/d/.', and the copy of 'd' goes there"]);
    copied(&home, "copy d l/d/own l", &[("l/own/f", "l/d/own/f"), ("l/d/sub/f", "d/sub/f")]);
}

#[test]
fn a_source_with_the_name_of_a_backup_stays() {
    let home = home(&["d/f", "l/d/f", "l/d/f~", "l/d/g~"]);
    let numbered = [("l/f~", "l/d/f~"), ("l/d/f~", "l/d/f~"), ("l/d/f.~1~", "l/d/f"), ("l/d/f", "d/f")];
    copied(&home, "copy --backup d l/d/f~ l", &numbered);
    fs::write(home.path("d/f"), "another").expect("room");
    copied(&home, "copy --backup d l/d/g~ l", &[("l/g~", "l/d/g~"), ("l/d/f~", "d/f")]);
}

#[test]
fn a_folder_whose_names_would_land_in_itself_is_refused() {
    let home = home(&["foo/foo/x", "foo/y", "z/other"]);
    let part = "is the source 'foo/' itself, which has a name 'foo'";
    for operands in ["foo/ .", "foo/ ./", "foo/ z/..", "foo/ z/other z/.."] {
        refused(
            &home,
            &["", "-n", "-a", "--delete", "--update"],
            operands,
            &["foo': ", part, "exclude that name"],
        );
    }
    copied(&home, "copy --exclude /foo foo/ z/other z/..", &[("y", "foo/y"), ("foo/foo/x", "foo/foo/x")]);
    fs::rename(home.path("foo/foo"), home.path("foo/bar")).expect("one folder");
    copied(&home, "copy foo/ .", &[("bar/x", "foo/foo/x")]);
}

#[test]
fn names_that_land_above_the_folder_itself_are_copied() {
    let home = home(&["a/b/a/b/x", "a/b/a/c", "p/q/p/x", "v/w/v"]);
    refused(&home, &USUAL, "a/b/ .", &["'./a/b': is the source 'a/b/' itself, which has a name 'a/b'"]);
    copied(&home, "copy p/q/ .", &[("p/x", "p/q/p/x")]);
    // A file of the tree would take the place of the folder that it lies in.
    refused(&home, &["--delete"], "v/w/ .", &["--delete would remove 'v/w/'"]);
}

#[test]
fn what_delete_would_remove_is_no_source() {
    let home = home(&["d/f", "t/s/x", "t/s/y", "s/b/z", "l/d/keep", "l/d/gone", "l/d/in/x"]);
    for flags in ["--delete --delete-excluded --exclude=x", "--delete", ""] {
        refused(&home, &[flags], "t/s s/b t", &["'t/s': is the source 't/s' or lies in it"]);
    }
    let part = &["'l/d': --delete would remove 'l/d/keep', which is copied from; exclude it"];
    for flags in [
        "--delete",
        "--delete -n",
        "--delete --backup",
        // A pattern for folders spares no file.
        "--delete --exclude=keep/",
        // It is not copied, and was named all the same.
        "--delete --exclude=/d/keep --delete-excluded",
    ] {
        refused(&home, &[flags], "d l/d/keep l", part);
    }
    refused(&home, &["--delete"], "d l/d/in l", &["--delete would remove 'l/d/in'"]);
    refused(&home, &["--delete"], "d l/d/in/x l", &["--delete would remove 'l/d/in/x'"]);
    copied(
        &home,
        "copy --delete --filter=P_/d/keep --exclude=/d/in d l/d/keep l/d/in/x l",
        &[("l/keep", "l/d/keep"), ("l/d/keep", "l/d/keep"), ("l/x", "l/d/in/x"), ("l/d/f", "d/f")],
    );
    assert!(!home.path("l/d/gone").exists());
}

#[test]
fn a_name_that_delete_leaves_alone_may_be_a_source() {
    // A link that leads nowhere is no missing name: nothing is removed for it.
    let home = home(&["d/f", "l/d/gone/x"]);
    make_symlink(&home, "nowhere", "d/gone");
    let line = "copy -L --delete d l/d/gone/x l";
    expect(&home.pump(&words(line)), 23, &["d/gone' "], line);
    assert!(home.path("l/d/gone/x").exists() && home.path("l/x").exists(), "{line}");
    // Nor is what lies on a file system that is left out.
    let Ok(other) = tempfile::tempdir_in("/dev/shm") else { return };
    let device = |path: &Path| path.metadata().expect("it is there").dev();
    if device(other.path()) == device(&home.path("")) {
        return;
    }
    let home = self::home(&["d/f", "l/d/m/keep"]);
    make_symlink(&home, other.path().to_str().expect("a plain path"), "d/m");
    let kept = [("l/keep", "l/d/m/keep"), ("l/d/m/keep", "l/d/m/keep")];
    copied(&home, "copy -L --one-file-system --delete d l/d/m/keep l", &kept);
    refused(&home, &["--delete"], "-L d l/d/m/keep l", &["--delete would remove 'l/d/m/keep'"]);
}
