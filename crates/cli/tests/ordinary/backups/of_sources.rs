//! Simple backups replace the ones before them, unless those may be what the same copy is still to read: a source that
//! lies in the folder of backups, a backup that a followed link leads to.

use std::fs;

use crate::support::{Home, expect, make_folder, make_symlink};

/// Files by name and content, with the folders that they lie in.
fn home(files: &[(&str, &str)]) -> Home {
    let home = Home::new();
    for (name, text) in files {
        let path = home.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("room");
        fs::write(path, text).expect("room");
    }
    home
}

/// Copies, and looks at the content of files.
fn copied(home: &Home, line: &str, expected: &[(&str, &str)]) {
    let words: Vec<&str> = line.split(' ').collect();
    expect(&home.pump(&[&["copy", "--lanes", "1"][..], &words].concat()), 0, &[], line);
    for (name, text) in expected {
        let found =
            fs::read_to_string(home.path(name)).unwrap_or_else(|error| panic!("{line}: {name}: {error}"));
        assert_eq!(found, *text, "{line}: {name}");
    }
}

#[test]
fn a_source_in_the_folder_of_backups_is_copied_before_any_backup_takes_its_names() {
    // Its own backups.
    for line in ["-a --backup --backup-dir=../b b/sub dst", "-a --backup-dir=../by b/sub dst"] {
        let home = home(&[("b/sub/f", "source"), ("dst/sub/f", "before")]);
        make_symlink(&home, "b", "by");
        copied(&home, line, &[("b/sub/f", "source"), ("dst/sub/f", "source"), ("b/sub/f.~1~", "before")]);
    }
    // Those of another source, and a link that is named and leads there.
    for line in ["-a --backup --backup-dir=../b a/x b/x/k dst", "-a --backup-dir=../b a/x k/ dst"] {
        let home = home(&[
            ("a/x/k/f", "new f"),
            ("a/x/k/g", "new g"),
            ("b/x/k/f", "source f"),
            ("b/x/k/g", "source g"),
            ("dst/x/k/f", "before f"),
            ("dst/x/k/g", "before g"),
        ]);
        make_symlink(&home, "b/x/k", "k");
        let goes_to = if line.contains("k/ ") { "dst" } else { "dst/k" };
        let [f, g] = ["f", "g"].map(|name| format!("{goes_to}/{name}"));
        copied(
            &home,
            line,
            &[
                ("dst/x/k/f", "new f"),
                ("dst/x/k/g", "new g"),
                ("b/x/k/f", "source f"),
                ("b/x/k/g", "source g"),
                (&f, "source f"),
                (&g, "source g"),
                ("b/x/k/f.~1~", "before f"),
            ],
        );
    }
}

#[test]
fn a_source_beside_the_folder_of_backups_lets_them_be_replaced() {
    let home = home(&[("a/f", "new"), ("dst/f", "before"), ("b/kept/f", "older")]);
    copied(&home, "-a --backup-dir=../b/kept a/ dst", &[("dst/f", "new"), ("b/kept/f", "before")]);
    assert!(!home.path("b/kept/f.~1~").exists());
}

#[test]
fn a_backup_that_a_followed_link_leads_to_is_not_replaced() {
    for (line, to) in [
        ("-aL --backup a/ dst", "dst/f~"),
        ("-a --copy-unsafe-links --backup a/ dst", "dst/f~"),
        ("-aL --backup-dir=../kept a/ dst", "kept/f"),
        // A named file beside a tree.
        ("-aL --backup-dir=../kept a/f a/l dst", "kept/f"),
        ("-aL --backup one/f tree dst", "dst/f~"),
    ] {
        let home = home(&[("a/f", "new"), ("one/f", "new"), ("dst/f", "before"), (to, "older")]);
        make_folder(&home, "tree");
        make_symlink(&home, &format!("../{to}"), "a/l");
        make_symlink(&home, &format!("../{to}"), "tree/l");
        let link = if line.contains("tree") { "dst/tree/l" } else { "dst/l" };
        let numbered = if to.starts_with("kept") { "kept/f.~1~" } else { "dst/f.~1~" };
        copied(&home, line, &[("dst/f", "new"), (link, "older"), (to, "older"), (numbered, "before")]);
    }
}
