//! Where patterns begin: as with rsync, in the folder that paths of the copy begin in; what is told of those that
//! begin elsewhere; and the same patterns of `pump verify`.

use std::fs;

use crate::support::serving::Serving;
use crate::support::typed::{make, pump};
use crate::support::{Home, make_folder};

/// A folder `src/data`, and another one beside it.
const SOURCE: [&str; 7] = [
    "src/data/keep",
    "src/data/a/keep",
    "src/data/a/b",
    "src/data/data/keep",
    "src/data/f",
    "src/other/keep",
    "src/f",
];

/// The files in a folder, in order.
fn files(home: &Home, name: &str) -> Vec<String> {
    let (mut all, mut folders) = (Vec::new(), vec![String::new()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(home.path(name).join(&folder)).expect("a folder") {
            let entry = entry.expect("it is there");
            let path = format!("{folder}{}", entry.file_name().to_string_lossy());
            if entry.file_type().expect("it is there").is_dir() {
                folders.push(format!("{path}/"));
            } else {
                all.push(path);
            }
        }
    }
    all.sort();
    all
}

#[test]
fn patterns_begin_where_the_paths_of_the_copy_do() {
    for (line, expected) in [
        ("--exclude /data/keep src/data", "data/a/b data/a/keep data/data/keep data/f"),
        ("--exclude /keep src/data", "data/a/b data/a/keep data/data/keep data/f data/keep"),
        ("--exclude /keep src/data/", "a/b a/keep data/keep f"),
        ("--exclude /keep src/data/.", "a/b a/keep data/keep f"),
        ("--exclude /data/keep src/data/", "a/b a/keep f keep"),
        ("--exclude data/keep src/data", "data/a/b data/a/keep data/f"),
        ("--exclude data/keep src/data/", "a/b a/keep f keep"),
        ("--exclude /data src/data", ""),
        ("--exclude /data/ src/data", ""),
        ("--exclude data src/data", ""),
        ("--exclude data/*** src/data", ""),
        ("--exclude /** src/data", ""),
        ("--exclude /data/** src/data", ""),
        ("--exclude /data/a/ --exclude /data/f/ src/data", "data/data/keep data/f data/keep"),
        ("--include /data/ --include /data/a/*** --exclude * src/data", "data/a/b data/a/keep"),
        ("--include /a/*** --exclude * src/data/", "a/b a/keep"),
        ("--exclude /data/keep src/data src/other", "data/a/b data/a/keep data/data/keep data/f other/keep"),
        ("--exclude /keep src/data src/other/", "data/a/b data/a/keep data/data/keep data/f data/keep"),
        ("--exclude /f src/data src/f", "data/a/b data/a/keep data/data/keep data/f data/keep"),
        ("--exclude f src/f src/other", "other/keep"),
        (
            "--relative --exclude /src/data/keep --exclude /data src/data",
            "src/data/a/b src/data/a/keep \
          src/data/data/keep src/data/f",
        ),
        ("--relative --exclude /data/keep src/./data", "data/a/b data/a/keep data/data/keep data/f"),
    ] {
        let home = Home::new();
        make(&home, &SOURCE);
        make_folder(&home, "p");
        pump(&home, &format!("copy {line} p/"), 0, &[]);
        assert_eq!(files(&home, "p").join(" "), expected, "{line}");
    }
}

#[test]
fn what_is_excluded_stays_at_the_target_by_the_same_paths() {
    for (line, expected) in [
        ("copy --delete --exclude /data/kept src/data p/", "data/kept kept"),
        ("copy --delete --exclude /kept src/data p/", "kept"),
        ("copy --delete --exclude data/kept src/data p/", "data/kept kept"),
        ("copy --delete --exclude /kept src/data/ p/", "kept"),
        ("copy --delete --exclude /data/kept src/data/ p/", "data/kept"),
        ("copy --delete --filter P_/data/kept src/data p/", "data/kept kept"),
        ("mirror --exclude /kept src/data/ p", "kept"),
        ("mirror --exclude /data/kept src/data/ p", "data/kept"),
    ] {
        let home = Home::new();
        make(&home, &["src/data/f", "p/data/kept", "p/kept", "p/data/more"]);
        pump(&home, line, 0, &[]);
        let left: Vec<String> = files(&home, "p").into_iter().filter(|name| name.ends_with("kept")).collect();
        assert_eq!(left.join(" "), expected, "{line}");
        assert!(!home.path("p/data/more").exists(), "{line}: what is not protected goes");
    }
}

#[test]
fn a_folder_that_becomes_the_target_itself_is_no_part_of_the_paths() {
    for line in [
        "copy --exclude /keep src/data new",
        "copy -T --exclude /keep src/data new",
        "mirror --exclude /keep src/data new",
    ] {
        let home = Home::new();
        make(&home, &SOURCE);
        pump(&home, line, 0, &[]);
        assert_eq!(files(&home, "new").join(" "), "a/b a/keep data/keep f", "{line}");
    }
}

#[test]
fn a_pattern_that_begins_elsewhere_and_matches_nothing_is_told() {
    for (line, said) in [
        (
            "mirror --exclude /data/more src/data new",
            "'/data/more' matched nothing: patterns begin in 'src/data'; write '/more'",
        ),
        (
            "copy --exclude /keep src/data p/",
            "'/keep' matched nothing: patterns begin in 'src', which holds 'data'; write '/data/keep'",
        ),
        (
            "copy --filter P_/keep --delete src/data p/",
            "--filter '/keep' matched nothing: patterns begin in 'src'",
        ),
        ("copy --exclude /x --exclude /y src/data p/", "'/x' matched nothing (nor did another pattern)"),
        (
            "copy -n --exclude /x/ src/data/ p/",
            "--exclude '/x/' matched nothing: patterns begin in 'src/data/'",
        ),
        ("copy --exclude /src src/ p/", "--exclude '/src' matched nothing: patterns begin in 'src/'"),
        ("copy --exclude /data/keep src/data p/", ""),
        ("copy --exclude keep --exclude /data/keep src/data p/", ""),
        ("copy --exclude /data src/data src/other p/", ""),
        ("copy --exclude nothing --exclude no/thing src/data p/", ""),
        ("mirror --filter P_/nothing src/data new", ""),
    ] {
        let home = Home::new();
        make(&home, &SOURCE);
        make_folder(&home, "p");
        let run = pump(&home, line, 0, &[said]);
        let notices = run.err.matches("matched nothing").count();
        assert_eq!(notices, usize::from(!said.is_empty()), "{line}: {run:?}");
    }
}

#[test]
fn a_copy_is_the_same_by_the_patterns_that_it_was_made_with() {
    for (copied, patterns, verified) in [
        ("copy --exclude /data/keep src/data p/", "--exclude /keep", "src/data/ p/data"),
        ("copy --exclude /data/a/keep src/data p/", "--exclude a/keep", "src/data p/data"),
        ("copy PATTERNS src/data p/", "--exclude a/k*", "src/data p/data"),
        ("copy PATTERNS src/data p/", "--exclude **/keep", "src/data p/data"),
        ("copy PATTERNS src/data p/", "--include a/*** --exclude keep", "src/data p/data"),
        ("mirror PATTERNS src/data p/data", "--exclude keep --exclude a/b", "src/data p/data"),
        ("mirror PATTERNS src/data p/data", "--exclude /keep", "src/data/ p/data"),
        ("copy PATTERNS src/data/ p/", "--exclude /keep", "src/data/ p"),
        ("copy PATTERNS src/data new", "--exclude /keep", "src/data new"),
        ("mirror PATTERNS src/data p", "--exclude /keep", "src/data p"),
        ("mirror PATTERNS src/data p", "--filter H_/keep", "src/data p"),
        ("copy PATTERNS src/data/ p/", "--include a/ --include b --exclude *", "src/data/ p"),
        ("copy PATTERNS src/data/ p/", "--files-from list", "src/data/ p"),
    ] {
        let home = Home::new();
        make(&home, &SOURCE);
        make_folder(&home, "p");
        fs::write(home.path("list"), "a/keep\nf\n").expect("room");
        pump(&home, &copied.replace("PATTERNS", patterns), 0, &[]);
        pump(&home, &format!("verify {patterns} {verified}"), 0, &["are the same"]);
        pump(&home, &format!("verify {verified}"), 1, &["is missing: there is only 'src/data"]);
    }
}

/// They would begin elsewhere after a mirror than after a copy, and what is compared does not tell which it was.
#[test]
fn patterns_that_mean_other_names_after_a_copy_than_after_a_mirror_are_refused() {
    for patterns in [
        "--exclude /data/keep",
        "--exclude /keep",
        "--exclude data/keep",
        "--exclude keep --filter P_data/a/b",
        "--exclude */keep",
        "--exclude **/data/keep",
        "--exclude da**",
        "--exclude data/***",
    ] {
        let home = Home::new();
        make(&home, &SOURCE);
        make(&home, &["p/data/f"]);
        for verified in ["src/data p/data", "./src/data p/./data"] {
            let said =
                ["after pump mirror", "above it after pump copy", "src/data/' and patterns that begin in it"];
            pump(&home, &format!("verify {patterns} {verified}"), 2, &said);
        }
        let run = home.pump(&format!("verify {patterns} src/data/ p/data").split(' ').collect::<Vec<_>>());
        assert_ne!(run.status, 2, "{patterns}: {run:?}");
    }
}

#[test]
fn patterns_that_leave_out_all_that_is_compared_are_refused() {
    let home = Home::new();
    make(&home, &["src/data/f", "p/data/f"]);
    pump(
        &home,
        "verify --exclude data src/data p/data",
        2,
        &["'src/data': is left out itself by the patterns"],
    );
    pump(&home, "verify --content-only --exclude data src/data/ p/data", 0, &["are the same"]);
}

#[test]
fn verify_tells_what_a_mirror_would_change_and_nothing_else() {
    for (patterns, status, said) in [
        ("--exclude *.tmp --exclude kept", 1, &["'src/more/x': is missing: there is only 'p/more/x'"][..]),
        ("--exclude *.tmp --filter P_kept --exclude x", 0, &[]),
        ("--filter H_*.tmp --filter P_*.tmp --filter P_more", 0, &[]),
        ("--filter P_more --filter H_*.tmp", 1, &["'src/b.tmp': is missing: there is only 'p/b.tmp'"]),
        ("--filter P_more --filter P_*.tmp", 1, &["'p/a.tmp': is missing: there is only 'src/a.tmp'"]),
        ("--exclude *.tmp", 1, &["'src/more': is missing: there is only 'p/more'"]),
        ("--exclude *.tmp --exclude more --exclude same", 0, &[]),
        ("--files-from list", 1, &["'p/a.tmp': is missing"]),
    ] {
        let home = Home::new();
        make(
            &home,
            &["src/same/f", "src/a.tmp", "src/c", "p/same/f", "p/b.tmp", "p/c", "p/more/kept", "p/more/x"],
        );
        fs::write(home.path("list"), "c\na.tmp\n").expect("room");
        let line = format!("verify --content-only {patterns} src p");
        let run = pump(&home, &line, status, said);
        assert_eq!(run.out.lines().count(), said.len(), "{line}: {run:?}");
    }
}

#[test]
fn patterns_begin_at_the_same_place_between_two_hosts() {
    let home = Home::new();
    make(&home, &SOURCE);
    make(&home, &["served/p/data/kept", "served/p/kept", "pulled/data/kept", "pulled/kept"]);
    let serving = Serving::new(&home, &[]);
    let rules = "--exclude /data/keep --exclude /data/kept";
    let run = |line: &str, status, parts: &[&str]| {
        let (command, rest) = line.split_once(' ').expect("a command");
        pump(&home, &format!("{command} --ticket-file ticket {rest}"), status, parts)
    };
    let expected = "data/a/b data/a/keep data/data/keep data/f data/kept kept";
    run(&format!("copy --delete {rules} src/data {}", serving.at("p/")), 0, &[]);
    assert_eq!(files(&home, "served/p").join(" "), expected, "pushed");
    run(
        &format!("copy --delete {rules} {} pulled/", serving.at("p/data")),
        0,
        &["'/data/keep' matched nothing"],
    );
    assert_eq!(files(&home, "pulled").join(" "), expected, "pulled");
    // Whichever of the two is listed: what is hidden in the first and kept at the second is no difference.
    for (rules, status, said) in [
        ("--exclude /keep --exclude /kept", 0, ""),
        ("--filter H_/keep --filter P_/kept", 0, ""),
        ("--filter H_/keep", 1, "'src/data/kept': is missing"),
        ("--filter P_/kept", 1, "keep': is missing: there is only 'src/data/keep'"),
        ("--filter P_/keep --filter H_/kept", 1, "is missing"),
    ] {
        let there = run(
            &format!("verify --content-only {rules} src/data/ {}", serving.at("p/data")),
            status,
            &[said],
        );
        let here = run(&format!("verify --content-only {rules} src/data/ served/p/data"), status, &[said]);
        assert_eq!(there.out.lines().count(), here.out.lines().count(), "{rules}: {there:?} {here:?}");
    }
    run(&format!("verify {rules} src/data {}", serving.at("p/data")), 2, &["above it after pump copy"]);
    run(&format!("verify {rules} {} src/data", serving.at("p/data")), 2, &["above it after pump copy"]);
}
