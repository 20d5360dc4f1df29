//! A copy writes onto none of its sources and removes none: what is known at the start is refused before anything is
//! written, the rest where it is met. Names that several sources have are those of the first.

use std::fs;
use std::time::SystemTime;

use crate::support::listing::listing;
use crate::support::serving::Serving;
use crate::support::{Home, expect, has_content, make_folder, make_symlink};

/// Files with their paths as their content, and the folders that they lie in; a path with a slash at its end is one.
fn home(paths: &[&str]) -> Home {
    let home = Home::new();
    // Of one age, or what is written later would be newer to `--update` where the clock ticks between.
    let now = SystemTime::now();
    for path in paths {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        fs::create_dir_all(home.path(folder)).expect("room for a folder");
        if !path.ends_with('/') {
            fs::write(home.path(path), path).expect("room for a file");
            let file = fs::File::options().write(true).open(home.path(path)).expect("it was written");
            file.set_modified(now).expect("its owner may");
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

/// With each of these flags a name is refused where it is met, no source changes, and without -n these files hold that.
fn met(paths: &[&str], flags: &[&str], operands: &str, parts: &[&str], files: &[(&str, &str)]) {
    for flag in flags {
        let home = home(paths);
        let line = ["copy", flag, operands].map(str::trim).join(" ").replace("  ", " ");
        expect(&home.pump(&words(&line)), 23, parts, &line);
        let sources = paths.iter().filter(|path| !path.ends_with('/') && !path.starts_with("t/"));
        sources.for_each(|path| has_content(&home.path(path), path.as_bytes(), &line));
        let made = files.iter().filter(|_| !flag.contains("-n"));
        made.for_each(|(file, content)| has_content(&home.path(file), content.as_bytes(), &line));
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
    copied(&home, "copy --inplace --update=differs a b t", &[("t/a", "a"), ("t/b", "a")]);
}

#[test]
fn a_name_that_two_sources_have_is_that_of_the_first() {
    let flags = ["", "-n", "-a", "--delete", "--lanes=3", "--remove-source-files"];
    let parts = &["two of the sources would get this name", "copy them one by one"];
    for (paths, first, second) in [
        (&["s/B", "u/B", "t/"][..], ("t/B", "s/B"), ("t/B", "u/B")),
        (&["s/B/x", "u/B/x", "t/"], ("t/B/x", "s/B/x"), ("t/B/x", "u/B/x")),
        (&["s/B/x", "u/B", "t/"], ("t/B/x", "s/B/x"), ("t/B", "u/B")),
    ] {
        // A tree from which something is to be removed from the source, and another one: nothing is.
        met(paths, &flags, "s/ u/B t", parts, &[first]);
        met(paths, &flags, "u/B s/ t", parts, &[second]);
    }
    // A link leads from one to the other.
    let home = home(&["s/sub/y", "u/B", "t/sub/y"]);
    make_symlink(&home, home.path("t/sub/y").to_str().expect("a plain path"), "t/B");
    expect(&home.pump(&words("copy s/ u/B t")), 23, parts, "by a link");
    has_content(&home.path("t/sub/y"), b"s/sub/y", "by a link");
    copied(&home, "copy --exclude /sub s/ u/B t", &[("t/sub/y", "u/B")]);
}

#[test]
fn the_content_of_several_folders_is_merged() {
    let paths = ["a/x", "a/sub/y", "a/both", "b/z", "b/sub/w", "b/both", "t/old", "t/sub/old"];
    let merged = [("t/x", "a/x"), ("t/sub/y", "a/sub/y"), ("t/z", "b/z"), ("t/sub/w", "b/sub/w")];
    let first = [&merged[..], &[("t/both", "a/both")]].concat();
    let second = [&merged[..], &[("t/both", "b/both")]].concat();
    let flags = ["", "-n", "-a", "--lanes=3", "--remove-source-files"];
    let parts = &["'t/both': two of the sources would get this name, 'a/' and 'b/'"];
    met(&paths, &flags, "a/ b/ t", parts, &[&first[..], &[("t/old", "t/old")]].concat());
    met(&paths, &flags[..1], "b/ a/ t", &["'t/both'", "'b/' and 'a/'"], &second);
    // What one of them has the other does not remove.
    let home = home(&paths);
    for run in ["the first run", "the second run"] {
        copied(&home, "copy -a --delete --exclude=/both a/ b/ t", &merged);
        assert!(!home.path("t/old").exists() && !home.path("t/sub/old").exists(), "{run}");
    }
    copied(
        &home,
        "copy -a --delete a sub/ t".replace("sub/", "b/z").as_str(),
        &[("t/a/x", "a/x"), ("t/z", "b/z")],
    );
    assert!(home.path("t/x").exists(), "only trees remove");
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

/// Nobody asks another host which names its folders have in common.
#[test]
fn the_content_of_folders_of_another_host_is_not_merged() {
    let home = home(&["served/a/x", "served/b/x", "served/b/sub/y", "t/sub/old"]);
    let serving = Serving::new(&home, &[]);
    let at = |path: &str| serving.at(path);
    for (flags, one, other, said) in [
        (&[][..], "a/", "b/", "two of the sources would get this name"),
        (&["--delete"], "a/", "b/sub", "--delete would remove what another source is copied to"),
    ] {
        let (one, other) = (at(one), at(other));
        let line = [&["copy", "--ticket-file", "ticket"], flags, &[&*one, &other, "t"]].concat();
        expect(&home.pump(&line), 2, &[said], &format!("{flags:?}"));
        assert!(home.path("t/sub/old").exists() && !home.path("t/x").exists(), "{flags:?}");
    }
}

#[test]
fn another_file_of_the_same_content_is_no_source_given_twice() {
    let home = home(&["a/f", "b/", "t/"]);
    fs::hard_link(home.path("a/f"), home.path("b/f")).expect("links");
    refused(&home, &["", "-n", "-a", "--remove-source-files"], "a/f b/f t", &["two "]);
    for operands in ["a/ b/f t", "b/f a/ t", "a/ b/ t"] {
        let line = format!("copy --remove-source-files {operands}");
        expect(&home.pump(&words(&line)), 23, &["two of the sources"], &line);
        assert!(home.path("a/f").exists() && home.path("b/f").exists(), "{line}");
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
    let run = home.pump(&words("copy s/ u/B t"));
    expect(&run, 23, &["'t/B/sub/x': two of the sources would get this name, 's/' and 'u/B'"], "both");
}

#[test]
fn a_source_where_a_tree_would_write_is_refused() {
    for (source, is_link) in [("l/d/f", false), ("link", true)] {
        let home = home(&["d/f", "d/g", "l/d/f"]);
        if is_link {
            make_symlink(&home, "l/d/f", "link");
        }
        let role =
            if is_link { "is what the source 'link' leads to" } else { "is the same file as the source" };
        for operands in [format!("d {source} l"), format!("{source} d l")] {
            for flag in ["-n", "-v", "--update=differs", "--lanes=3", "--remove-source-files"] {
                let line = format!("copy {flag} {operands}");
                expect(&home.pump(&words(&line)), 23, &["'l/d/f': ", role], &line);
                has_content(&home.path("l/d/f"), b"l/d/f", &line);
                assert!(home.path("d/g").exists(), "{line}");
            }
        }
        copied(&home, &format!("copy --exclude /d/f d {source} l"), &[("l/d/f", "l/d/f"), ("l/d/g", "d/g")]);
        copied(&home, &format!("copy --ignore-existing d {source} l"), &[("l/d/f", "l/d/f")]);
    }
}

#[test]
fn a_folder_where_a_tree_would_write_is_no_source_beside_it() {
    let paths = ["d/sub/f", "l/d/sub/f", "l/d/own/f"];
    met(
        &paths,
        &USUAL,
        "d l/d/sub l",
        &["'l/d/sub': is a folder that is copied from"],
        &[("l/sub/f", "l/d/sub/f")],
    );
    met(&paths, &USUAL, "l/d/sub/f d l", &["'l/d/sub/f': is the same file as the source 'l/d/sub/f'"], &[]);
    let home = home(&paths);
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
    let paths = ["foo/foo/x", "foo/y", "z/other"];
    for operands in ["foo/ .", "foo/ ./", "foo/ z/..", "foo/ z/other z/.."] {
        met(&paths, &["", "-n", "-a", "--update"], operands, &["foo': is a folder that is copied from"], &[]);
        refused(&home(&paths), &["--delete"], operands, &["--delete would remove 'foo/'"]);
    }
    let home = home(&paths);
    copied(&home, "copy --exclude /foo foo/ z/other z/..", &[("y", "foo/y"), ("foo/foo/x", "foo/foo/x")]);
    fs::rename(home.path("foo/foo"), home.path("foo/bar")).expect("one folder");
    copied(&home, "copy foo/ .", &[("bar/x", "foo/foo/x")]);
}

#[test]
fn names_that_land_above_the_folder_itself_are_copied() {
    let home = home(&["a/b/a/b/x", "a/b/a/c", "p/q/p/x", "v/w/v"]);
    met(&["a/b/a/b/x", "a/b/a/c"], &USUAL, "a/b/ .", &["'./a/b': is a folder that is copied from"], &[]);
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
fn a_source_in_the_target_of_delete_is_refused_whatever_the_tree_has() {
    let home = home(&["d/f", "l/d/gone/x"]);
    make_symlink(&home, "nowhere", "d/gone");
    refused(&home, &["-L --delete"], "d l/d/gone/x l", &["--delete would remove 'l/d/gone/x'"]);
    copied(
        &home,
        "copy --delete --exclude=/d/gone d l/d/gone/x l",
        &[("l/x", "l/d/gone/x"), ("l/d/f", "d/f")],
    );
}

/// A named file is written through a link, as with cp: the link is no name too much of a tree that goes there, too.
#[test]
fn a_link_that_a_named_source_is_written_through_survives_delete() {
    for (leads_to, end) in [("a", "t/a"), ("d/x", "t/d/x"), ("../out/x", "out/x")] {
        let home = home(&["b", "s/e", "t/gone", end]);
        make_symlink(&home, leads_to, "t/b");
        for _ in 0..2 {
            copied(&home, "copy --delete b s/ t", &[("t/b", "b"), (end, "b"), ("t/e", "s/e")]);
            assert!(home.path("t/b").is_symlink(), "{leads_to}");
        }
        assert!(!home.path("t/gone").exists(), "{leads_to}");
    }
}

#[test]
fn one_folder_that_goes_makes_no_other_name_an_existing_one() {
    let home = home(&["s/d/new", "s/c", "t/d/", "t/c/"]);
    expect(&home.pump(&words("copy --existing s/ t")), 0, &[], "the empty folder goes");
    assert!(!home.path("t/d/new").exists(), "nothing exists under that name");
}
