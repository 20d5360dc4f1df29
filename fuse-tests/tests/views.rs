//! A mount that shows a folder but for names with a dot in front, as samba's `veto files` does: no name that pump makes is
//! seen in it, and none can be made there.

mod parts;

use parts::refusing::{Answer, Attribute, RefusingDisk};
use parts::{support, wider_parts};
use std::fs;
use std::path::Path;

use support::{expect, has_content};
use wider_parts::pump;

/// A folder with `f`, `sub/g` and a copy `g` of that, and a view of it without names that begin with a dot.
fn view() -> RefusingDisk {
    let view = RefusingDisk::new();
    fs::create_dir(view.behind("sub")).expect("room");
    fs::write(view.behind("f"), "precious").expect("room");
    for name in ["g", "sub/g"] {
        fs::write(view.behind(name), "more").expect("room");
        support::set_mtime(view.behind(name).as_ref(), 1_600_000_000_000_000_000);
    }
    view.hide_dot_names();
    view
}

fn is_whole(view: &RefusingDisk, row: &str) {
    has_content(Path::new(&view.behind("f")), b"precious", row);
    has_content(Path::new(&view.behind("sub/g")), b"more", row);
}

#[test]
fn nothing_goes_from_a_source_whose_view_hides_what_is_made() {
    // Where the mount takes no times either, nothing tells: then nothing goes.
    for refused in [&[][..], &[(Attribute::Times, Answer::Errno(13))]] {
        let view = view();
        view.refuse(refused);
        let time = || fs::metadata(view.behind("")).and_then(|meta| meta.modified()).expect("a folder");
        let before = time();
        for flags in ["--update", "--update=differs", "--checksum"] {
            for (from, to) in [(view.behind(""), view.at("")), (view.at(""), view.behind(""))] {
                let row = format!("{flags} {from} {refused:?}");
                let from = format!("{}/", from.trim_end_matches('/'));
                expect(
                    &pump(&["copy", flags, "--remove-source-files", &from, &to]),
                    2,
                    &["nothing was removed"],
                    &row,
                );
                let named = [format!("{from}f"), format!("{}/", to.trim_end_matches('/'))];
                let words = ["copy", flags, "--remove-source-files", &named[0], &named[1]];
                expect(&pump(&words), 2, &["nothing was removed"], &row);
                is_whole(&view, &row);
                assert!(!refused.is_empty() || time() == before, "{row}: the folder keeps its time");
            }
        }
    }
}

/// The source lies below the folder that the mirror clears, and no number and no name tells it.
#[test]
fn a_mirror_removes_nothing_that_is_its_source_on_another_mount() {
    for refused in [&[][..], &[(Attribute::Times, Answer::Errno(13))]] {
        for is_view_the_target in [true, false] {
            let view = view();
            view.refuse(refused);
            let (source, target) = match is_view_the_target {
                true => (view.behind("sub/"), view.at("")),
                false if refused.is_empty() => (view.at("sub/"), view.behind("")),
                // The folder itself takes its times.
                false => continue,
            };
            let row = format!("{source} {target} {refused:?}");
            let run = pump(&["mirror", &source, &target]);
            assert_ne!(run.status, 0, "{row}: {run:?}");
            assert!(run.err.contains("is copied from"), "{row}: {run:?}");
            is_whole(&view, &row);
        }
    }
}

/// Servers behind some file systems (sshfs) give what a link is given to what it leads to. Their daemons may remember what
/// they have shown of that.
#[test]
fn what_a_link_leads_to_keeps_its_owner_and_times() {
    for remembers in [false, true] {
        let disk = RefusingDisk::new();
        disk.follow_links();
        if remembers {
            disk.remember_attributes();
        }
        links_keep_to_themselves(&disk, remembers);
    }
}

fn links_keep_to_themselves(disk: &RefusingDisk, remembers: bool) {
    use std::os::unix::fs::{MetadataExt, lchown, symlink};

    let home = support::Home::new();
    fs::create_dir(home.path("from")).expect("room");
    fs::write(home.path("from/a"), "a").expect("room");
    support::set_mtime(&home.path("from/a"), 1_600_000_000_000_000_000);
    fs::write(home.path("outside"), "not copied").expect("room");
    symlink("a", home.path("from/to_a")).expect("room");
    symlink(home.path("outside"), home.path("from/out")).expect("room");
    for link in ["from/to_a", "from/out"] {
        // An owner that others give alone.
        let _ = lchown(home.path(link), Some(1), Some(1));
    }
    let state = |path: &str| {
        let meta = fs::metadata(path).expect("it is there");
        (meta.uid(), meta.mtime(), meta.ctime(), meta.ctime_nsec())
    };
    let outside = home.path("outside").display().to_string();
    let (before, mut first) = (state(&outside), None);
    let (from, to) = (home.path("from").display().to_string(), disk.at("to"));
    for round in ["new", "again", "once more"] {
        let round = &format!("{round}, remembers: {remembers}");
        let run = pump(&["mirror", &from, &to]);
        expect(&run, 23, &["this file system gives them to what a link leads to"], round);
        assert_eq!(state(&outside), before, "{round}: it is no part of the copy");
        assert_eq!(state(&disk.behind("to/a")).1, 1_600_000_000, "{round}: its own time");
        assert_eq!(
            fs::read_dir(disk.behind("to")).expect("a folder").count(),
            3,
            "{round}: nothing is left over"
        );
        let inode = fs::metadata(disk.behind("to/a")).expect("it is there").ino();
        assert_eq!(*first.get_or_insert(inode), inode, "{round}: it is copied once");
    }
    expect(&pump(&["mirror", "--no-preserve=timestamps,ownership", &from, &to]), 0, &[], "nobody asks");
}
