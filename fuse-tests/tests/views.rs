//! Mounts that do not show all: one of another user, and one of a folder but for names with a dot in front, as samba's
//! `veto files` has it: no name that pump makes is seen in it, and none can be made there.

mod parts;

use parts::fuse::Fuse;
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

/// A mount that answers the user alone who mounted it: neither its listing nor what it is can be had.
#[test]
fn a_mount_of_another_user_is_left_out_with_other_file_systems() {
    let (home, fuse) = (support::Home::new(), Fuse::new());
    fs::create_dir(fuse.at("in")).expect("room");
    let mounted = fuse.at("");
    let from = Path::new(&mounted).parent().expect("it has one").to_path_buf();
    support::set_mode(&from, 0o755);
    fs::write(from.join("own"), "own").expect("room");
    fs::create_dir(home.path("open")).expect("room");
    support::set_mode(&home.path("open"), 0o777);
    let source = format!("{}/", from.display());
    for (row, words) in
        [("copied", ["copy", "-x"]), ("mirrored", ["mirror", "-x"]), ("planned", ["copy", "-nx"])]
    {
        let run = support::as_ordinary_user(&home, &[&words[..], &[&source, "open/to"]].concat());
        let Some(run) = run else { return };
        expect(&run, 0, &["left out", "mnt'"], row);
        has_content(&home.path("open/to/own"), b"own", row);
        // What the source does not have is removed all the same, and what the mount may hold stays.
        fs::write(home.path("open/to/extra"), "too much").expect("room");
        fs::create_dir_all(home.path("open/to/mnt")).expect("room");
        fs::write(home.path("open/to/mnt/stays"), "earlier").expect("room");
        let run = support::as_ordinary_user(&home, &["mirror", "-x", &source, "open/to"]).expect("as before");
        expect(&run, 0, &["left out"], row);
        assert!(
            !home.path("open/to/extra").exists() && home.path("open/to/mnt/stays").exists(),
            "{row}: {run:?}"
        );
    }
    let run = support::as_ordinary_user(&home, &["mirror", &source, "open/to"]).expect("as before");
    expect(&run, 23, &["mnt'"], "it is not left out without -x");
    // Such a mount at the target is nothing that a mirror removes.
    let run = support::as_ordinary_user(&home, &["mirror", "open/to/", &source]).expect("as before");
    expect(&run, 23, &["mnt'"], "its names are copied to that mount");
    fs::create_dir(home.path("open/few")).expect("room");
    fs::write(home.path("open/few/own"), "own").expect("room");
    fs::write(from.join("more"), "more").expect("room");
    std::os::unix::fs::chown(&from, Some(65_534), Some(65_534)).expect("root");
    let run = support::as_ordinary_user(&home, &["mirror", "open/few", &source]).expect("as before");
    expect(&run, 0, &["mnt' is not in the source, but it is a mount point: left alone"], "at the target");
    assert!(!from.join("more").exists() && Path::new(&fuse.at("in")).exists());
}

/// The source lies below the folder that the mirror clears, and no number and no name tells it.
#[test]
fn a_mirror_removes_nothing_that_is_its_source_on_another_mount() {
    for refused in [&[][..], &[(Attribute::Times, Answer::Errno(13))]] {
        for is_view_the_target in [true, false] {
            let view = view();
            view.refuse(refused);
            let (source, target) = if is_view_the_target {
                (view.behind("sub/"), view.at(""))
            } else if refused.is_empty() {
                (view.at("sub/"), view.behind(""))
            } else {
                // The folder itself takes its times.
                continue;
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
