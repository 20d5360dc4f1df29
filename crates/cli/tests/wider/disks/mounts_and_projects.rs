//! Parts of a tree that are apart: mounts that `--one-file-system` leaves out, and projects of one file system.

use std::os::unix::fs::MetadataExt;

use crate::support::{Home, expect, has_content, make_folder};
use crate::wider_parts::{Kind, Mount, leftovers, program, pump};

/// tmpfs on a folder.
struct OnFolder(String);

impl OnFolder {
    fn new(home: &Home, name: &str) -> OnFolder {
        make_folder(home, name);
        let point = home.path(name).display().to_string();
        program(&["mount", "-t", "tmpfs", "tmpfs", &point]);
        std::fs::write(format!("{point}/file"), "mounted").expect("room");
        OnFolder(point)
    }
}

impl Drop for OnFolder {
    fn drop(&mut self) {
        program(&["umount", "--lazy", &self.0]);
    }
}

#[test]
fn what_is_mounted_is_reported_once_and_left_out() {
    let home = Home::new();
    make_folder(&home, "from");
    std::fs::write(home.path("from/own"), "own").expect("room");
    let mounts = ["from/a", "from/b", "from/c", "from/d"].map(|name| OnFolder::new(&home, name));
    for words in ["copy -x from/ to", "mirror -x from/ to", "copy -n -x from/ to"] {
        let run = home.pump(&words.split(' ').collect::<Vec<_>>());
        let parts = ["on other file systems, left out (--one-file-system): 'from/a', 'from/b'", "1 more"];
        expect(&run, 0, &parts, words);
        assert_eq!(run.err.matches("left out").count(), 1, "one line: {run:?}");
        let quiet = home.pump(&[&words.split(' ').collect::<Vec<_>>()[..], &["-q"]].concat());
        expect(&quiet, 0, &[], words);
        assert_eq!(quiet.err, "", "{words}");
    }
    assert!(home.path("to/a").is_dir() && !home.path("to/a/file").exists());
    drop(mounts);
    let none = home.pump(&["copy", "-x", "from/", "other"]);
    expect(&none, 0, &[], "nothing is mounted");
    assert!(!none.err.contains("left out"), "{none:?}");
}

/// xfs with two folders whose projects go to what is made in them.
fn projects() -> Mount {
    let mount = Mount::new(Kind::Xfs);
    for (name, project) in [("a", "5"), ("b", "6")] {
        std::fs::create_dir(mount.at(name)).expect("room");
        give_project(&mount.at(name), project);
    }
    mount
}

fn give_project(folder: &str, project: &str) {
    program(&["xfs_io", "-c", &format!("chproj {project}"), "-c", "chattr +P", folder]);
}

#[test]
fn backups_in_another_project_are_refused_before_anything_is_changed() {
    let (home, mount) = (Home::new(), projects());
    std::fs::create_dir(home.path("from")).expect("room");
    std::fs::write(home.path("from/file"), "old").expect("room");
    let from = format!("{}/", home.path("from").display());
    expect(&pump(&["copy", &from, &mount.at("a")]), 0, &[], "set-up");
    std::fs::write(home.path("from/file"), "newer").expect("room");
    let into = |folder: &str| format!("--backup-dir={}", mount.at(folder));
    for words in [&["mirror"][..], &["mirror", "-n"], &["copy"]] {
        let run = pump(&[words, &[&into("b/old"), &from, &mount.at("a")]].concat());
        expect(&run, 2, &["is in another project (quota) than the target"], "another project");
        has_content(mount.at("a/file").as_ref(), b"old", "it is refused before");
        assert_eq!(leftovers(&mount.at("a")), [""; 0]);
    }
    // A folder that hands nothing down takes files of every project.
    std::fs::create_dir(mount.at("free")).expect("room");
    expect(&pump(&["mirror", &into("free"), &from, &mount.at("a")]), 0, &[], "no project");
    has_content(mount.at("free/file").as_ref(), b"old", "kept");
    std::fs::write(home.path("from/file"), "newest").expect("room");
    expect(&pump(&["mirror", &into("a/old"), &from, &mount.at("a")]), 0, &[], "the same project");
    has_content(mount.at("a/old/file").as_ref(), b"newer", "kept");
}

/// Each file failed by itself, behind its bytes.
#[test]
fn a_folder_in_another_project_than_the_backups_is_refused_as_a_whole() {
    let (home, mount) = (Home::new(), projects());
    for name in ["from", "from/x", "from/y"] {
        std::fs::create_dir(home.path(name)).expect("room");
        std::fs::write(home.path(name).join("file"), "old").expect("room");
    }
    let from = format!("{}/", home.path("from").display());
    expect(&pump(&["copy", &from, &mount.at("a")]), 0, &[], "set-up");
    std::fs::remove_dir_all(mount.at("a/x")).expect("it was made");
    std::fs::create_dir(mount.at("a/x")).expect("room");
    give_project(&mount.at("a/x"), "6");
    std::fs::write(mount.at("a/x/file"), "of x").expect("room");
    for name in ["from/file", "from/x/file", "from/y/file"] {
        std::fs::write(home.path(name), "newer").expect("room");
    }
    let backups = format!("--backup-dir={}", mount.at("a/old"));
    for dry_run in [&["-n"][..], &[]] {
        let run = pump(&[&["mirror", &backups, &from, &mount.at("a")], dry_run].concat());
        expect(
            &run,
            23,
            &["a/x': is in another project (quota) than the folder of backups"],
            "a project in it",
        );
        has_content(mount.at("a/x/file").as_ref(), b"of x", "it is refused before");
    }
    has_content(mount.at("a/y/file").as_ref(), b"newer", "the others");
    has_content(mount.at("a/old/y/file").as_ref(), b"old", "their backups");
    std::fs::create_dir(mount.at("free")).expect("room");
    let backups = format!("--backup-dir={}", mount.at("free"));
    expect(&pump(&["mirror", &backups, &from, &mount.at("a")]), 0, &[], "as it says");
    has_content(mount.at("free/x/file").as_ref(), b"of x", "kept");
}

#[test]
fn files_are_copied_where_projects_keep_them_from_being_linked() {
    let (home, mount) = (Home::new(), projects());
    for name in ["from", "from/x", "from/y"] {
        std::fs::create_dir(home.path(name)).expect("room");
    }
    for (name, others) in [("x/f", &["y/f"][..]), ("y/g", &["y/h", "y/i"])] {
        std::fs::write(home.path("from").join(name), name).expect("room");
        for other in others {
            let names = [name, other].map(|name| home.path("from").join(name));
            std::fs::hard_link(&names[0], &names[1]).expect("one file system");
        }
    }
    let from = format!("{}/", home.path("from").display());
    for (name, project) in [("t", "0"), ("t/x", "5"), ("t/y", "6")] {
        std::fs::create_dir(mount.at(name)).expect("room");
        program(&["xfs_io", "-c", &format!("chproj {project}"), "-c", "chattr +P", &mount.at(name)]);
    }
    let run = pump(&["copy", &from, &mount.at("t")]);
    expect(&run, 0, &["hard links", "copied instead"], "between projects");
    assert_eq!(run.err.matches("copied instead").count(), 1, "one line: {run:?}");
    let number = |name: &str| std::fs::metadata(mount.at(name)).expect("it is there").ino();
    assert_ne!(number("t/x/f"), number("t/y/f"));
    assert!(
        ["t/y/h", "t/y/i"].iter().all(|name| number(name) == number("t/y/g")),
        "within one they are linked"
    );
    for name in ["x/f", "y/f", "y/g"] {
        let content = std::fs::read(home.path("from").join(name)).expect("it is there");
        has_content(mount.at(&format!("t/{name}")).as_ref(), &content, name);
    }
    let link_dest = format!("--link-dest={}", mount.at("t/x"));
    let from_x = format!("{}/", home.path("from/x").display());
    let run = pump(&["copy", &link_dest, &from_x, &mount.at("b/n")]);
    expect(&run, 0, &["--link-dest: Invalid cross-device link", "is copied"], "--link-dest");
    has_content(mount.at("b/n/f").as_ref(), b"x/f", "--link-dest");
}
