//! Sources that change while their tree is copied, at a moment that the test chooses: while the copy of a large file
//! among the sources is stopped.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use crate::support::running::{Running, eventually};
use crate::support::serving::Serving;
use crate::support::{Home, Outcome, expect, has_content, noise};
use crate::wider_parts::mounts::Bind;
use crate::wider_parts::{Mount, pump_command};
use rustix::process::Signal;

/// Copies `one`, stands still in `large` until `change` was made, then copies `two`.
fn copy_around(folder: &Path, options: &[&str], change: impl FnOnce()) -> Outcome {
    let at = |name: &str| folder.join(name).display().to_string();
    fs::write(folder.join("large"), noise(400_000, 1)).expect("room");
    let places = [at("one"), at("large"), at("two"), at("copy")];
    let slow = ["copy", "--lanes", "1", "--request-size=4KiB", "--bwlimit=100kB"];
    let words: Vec<&str> = slow.into_iter().chain(options.iter().copied()).collect();
    let words: Vec<&str> = words.into_iter().chain(places.iter().map(String::as_str)).collect();
    let mut running = Running::start(pump_command(&words));
    eventually("the first tree is there", || folder.join("copy/one/first").exists());
    running.await_temporary(&folder.join("copy"));
    running.signal(Signal::STOP);
    assert!(!running.has_ended(), "it is in the middle");
    change();
    running.signal(Signal::CONT);
    running.end()
}

/// ext4 gives the lowest free number, so that the next file has that of the one removed last.
#[test]
fn an_inode_that_is_used_again_is_no_hard_link() {
    let mount = Mount::ext4(64, &[]);
    let folder = Path::new(&mount.point()).to_path_buf();
    for name in ["one", "two", "copy"] {
        fs::create_dir(folder.join(name)).expect("room");
    }
    fs::write(folder.join("one/first"), "the old one").expect("room");
    fs::hard_link(folder.join("one/first"), folder.join("two/again")).expect("one file system");
    let inode = |name: &str| fs::metadata(folder.join(name)).expect("it is there").ino();
    let old = inode("one/first");
    let run = copy_around(&folder, &[], || {
        fs::remove_file(folder.join("one/first")).expect("it is there");
        fs::remove_file(folder.join("two/again")).expect("it is there");
        fs::write(folder.join("two/new"), "the new one").expect("room");
        fs::hard_link(folder.join("two/new"), folder.join("two/newer")).expect("one file system");
        assert_eq!(inode("two/new"), old, "the number is used again");
    });
    expect(&run, 0, &["used again"], "used again");
    has_content(&folder.join("copy/one/first"), b"the old one", "as it was when it was copied");
    for name in ["copy/two/new", "copy/two/newer"] {
        has_content(&folder.join(name), b"the new one", name);
    }
    assert_eq!(inode("copy/two/new"), inode("copy/two/newer"), "they are one file in the copy, too");
}

/// Two source trees and their backup, which has one file more in each.
fn mirrored(folder: &Path) {
    for name in ["one", "two", "copy", "copy/one", "copy/two"] {
        fs::create_dir(folder.join(name)).expect("room");
    }
    fs::write(folder.join("one/first"), "first").expect("room");
    for name in ["two/moved", "copy/two/moved", "copy/one/too much", "copy/two/too much"] {
        fs::write(folder.join(name), "backed up").expect("room");
    }
}

/// A file that is in neither folder as walked may be in one of them all the same: that one is walked again.
#[test]
fn a_file_that_is_moved_between_folders_stays_in_the_backup() {
    let (home, options) = (Home::new(), ["--update", "--delete"]);
    mirrored(&home.path(""));
    let run = copy_around(&home.path(""), &options, || {
        fs::rename(home.path("two/moved"), home.path("one/moved")).expect("one file system");
    });
    expect(&run, 0, &["3 deleted"], "moved");
    has_content(&home.path("copy/one/moved"), b"backed up", "copied where it is by now");
    for name in ["copy/two/moved", "copy/one/too much", "copy/two/too much"] {
        assert!(!home.path(name).exists(), "{name}: removed");
    }
    fs::remove_file(home.path("copy/large")).expect("it was copied");
    let again = copy_around(&home.path(""), &options, || {});
    expect(&again, 0, &[], "quiet");
}

/// Below a folder that is another one by now, or holds nothing any more, nothing goes; elsewhere all that is too much.
#[test]
fn below_a_folder_that_was_swapped_or_emptied_nothing_is_removed() {
    for swaps in [true, false] {
        let (home, options) = (Home::new(), ["--update", "--delete"]);
        mirrored(&home.path(""));
        for side in ["one", "copy/one"] {
            fs::create_dir_all(home.path(side).join("deep/er")).expect("room");
            fs::write(home.path(side).join("deep/er/file"), "backed up").expect("room");
        }
        fs::write(home.path("copy/one/deep/er/old"), "old").expect("room");
        fs::write(home.path("copy/one/deep/old"), "old").expect("room");
        let row = format!("swaps {swaps}");
        let run = copy_around(&home.path(""), &options, || {
            if swaps {
                fs::rename(home.path("one/deep"), home.path("elsewhere")).expect("one file system");
                fs::create_dir(home.path("one/deep")).expect("room");
            } else {
                fs::rename(home.path("one/deep/er"), home.path("elsewhere")).expect("one file system");
            }
        });
        expect(&run, 24, &["one/deep'", "nothing was removed in it"], &row);
        for (name, content) in [("er/file", "backed up"), ("er/old", "old"), ("old", "old")] {
            has_content(&home.path("copy/one/deep").join(name), content.as_bytes(), &row);
        }
        for name in ["copy/one/too much", "copy/two/too much"] {
            assert!(!home.path(name).exists(), "{row}: {name}: removed");
        }
        let again = copy_around(&home.path(""), &["--update", "--delete", "--max-delete=9"], || {});
        expect(&again, 0, &[], &row);
        assert!(!home.path("copy/one/deep/er").exists(), "{row}: quiet");
    }
}

/// A source that was named is looked at by its path: another folder may have that by now, or be mounted there.
#[test]
fn below_a_source_that_was_replaced_or_covered_nothing_is_removed() {
    for is_covered in [false, true] {
        let home = Home::new();
        mirrored(&home.path(""));
        let (one, row) = (home.path("one"), format!("covered {is_covered}"));
        fs::create_dir(home.path("new")).expect("room");
        let mut bind = None;
        let run = copy_around(&home.path(""), &["--update", "--delete"], || {
            if is_covered {
                let [new, one] = [home.path("new"), one.clone()].map(|path| path.display().to_string());
                bind = Some(Bind::new(&new, &one));
            } else {
                fs::rename(&one, home.path("was one")).expect("one file system");
                fs::rename(home.path("new"), &one).expect("one file system");
            }
        });
        expect(&run, 24, &["one': changed while it was copied", "nothing was removed in it"], &row);
        assert!(home.path("copy/one/too much").exists(), "{row}: another folder is in its place");
        assert!(!home.path("copy/two/too much").exists(), "{row}: two is quiet");
    }
}

/// ext4 gives the lowest free inode number, so that a name that is removed and made anew has the number of the old one.
#[test]
fn a_name_that_is_made_anew_with_the_number_of_the_old_one_is_copied() {
    let mount = Mount::ext4(64, &[]);
    let folder = Path::new(&mount.point()).to_path_buf();
    mirrored(&folder);
    let [one, two] = ["one/moved", "two/moved"].map(|name| folder.join(name));
    fs::write(&one, "old").expect("room");
    fs::write(folder.join("copy/one/moved"), "old").expect("room");
    let number = || fs::metadata(&one).expect("it is there").ino();
    let run = copy_around(&folder, &["--update=differs", "--delete"], || {
        let before = number();
        fs::remove_file(&one).expect("it was there");
        fs::write(&one, fs::read(&two).expect("it was there")).expect("room");
        fs::remove_file(&two).expect("it was there");
        assert_eq!(number(), before, "the number is used again");
    });
    expect(&run, 0, &[], "made anew");
    has_content(&folder.join("copy/one/moved"), b"backed up", "it is no file that was walked");
    assert!(!folder.join("copy/two/moved").exists(), "it has moved");
}

/// The same of a folder, which was no folder when its name was walked, and of a link that is followed: what it leads to may
/// be old.
#[test]
fn what_has_the_number_of_a_removed_file_and_is_a_folder_or_another_link_is_copied() {
    for follows in [false, true] {
        let mount = Mount::ext4(64, &[]);
        let folder = Path::new(&mount.point()).to_path_buf();
        mirrored(&folder);
        let [new, old] = ["one/anew", "two/moved"].map(|name| folder.join(name));
        fs::write(folder.join("outside"), "backed up").expect("room");
        if follows {
            symlink("../two/moved", &new).expect("room");
        } else {
            fs::write(&new, "a file").expect("room");
        }
        let number = || fs::symlink_metadata(&new).expect("it is there").ino();
        let flags = [&["--update=differs", "--delete"][..], if follows { &["-L"] } else { &[] }].concat();
        let run = copy_around(&folder, &flags, || {
            let before = number();
            fs::remove_file(&new).expect("it was there");
            if follows {
                symlink("../outside", &new).expect("room");
                fs::remove_file(&old).expect("it was there");
            } else {
                fs::create_dir(&new).expect("room");
                fs::rename(&old, new.join("moved")).expect("one file system");
            }
            assert_eq!(number(), before, "the number is used again");
        });
        expect(&run, 0, &[], "made anew");
        let copy = if follows { "copy/one/anew" } else { "copy/one/anew/moved" };
        has_content(&folder.join(copy), b"backed up", "it is none that was walked");
        assert!(!folder.join("copy/two/moved").exists(), "it has moved");
    }
}

#[test]
fn a_mount_that_goes_away_behind_its_copy_keeps_its_backup() {
    let home = Home::new();
    mirrored(&home.path(""));
    let mounted = home.path("one/mounted");
    fs::create_dir(&mounted).expect("room");
    let (mount, point) = (Mount::ext4(16, &[]), mounted.display().to_string());
    fs::write(mount.at("precious"), "precious").expect("room");
    let bind = Bind::new(&mount.point(), &point);
    let run = copy_around(&home.path(""), &["--update", "--delete"], || {
        eventually("it is copied", || home.path("copy/one/mounted/precious").exists());
        drop(bind);
        assert!(!mounted.join("precious").exists(), "nothing is mounted any more");
    });
    expect(&run, 24, &["one/mounted'", "nothing was removed"], "a mount that went away");
    has_content(&home.path("copy/one/mounted/precious"), b"precious", "it was copied by this very run");
}

/// A bind mount of the same file system has its device number, too.
#[test]
fn what_is_mounted_in_a_mirror_from_the_same_file_system_stays() {
    for to_host in [false, true] {
        for in_the_way in [false, true] {
            let home = Home::new();
            for name in ["from", "precious", "served/copy/mounted"] {
                fs::create_dir_all(home.path(name)).expect("room");
            }
            fs::write(home.path("precious/file"), "precious").expect("room");
            fs::write(home.path("served/copy/too much"), "old").expect("room");
            fs::write(home.path("from/file"), "new").expect("room");
            if in_the_way {
                fs::write(home.path("from/mounted"), "a file in the place of a folder").expect("room");
            }
            let [precious, point, from, copy, ticket] =
                ["precious", "served/copy/mounted", "from", "served/copy", "ticket"]
                    .map(|name| home.path(name).display().to_string());
            let _bind = Bind::new(&precious, &point);
            let serving = Serving::new(&home, &[]);
            let to = if to_host { serving.at("copy") } else { copy };
            for flags in [&["-n"][..], &[]] {
                let words = [&["mirror", "--ticket-file", &ticket, &from, &to], flags].concat();
                let row = format!("{words:?} {in_the_way}");
                let run = Running::start(pump_command(&words)).end();
                let said = ["mounted' is not in the source, but it is a mount point: left alone"];
                if in_the_way {
                    assert!(run.status != 0, "{row}: {run:?}");
                } else {
                    expect(&run, 0, &said, &row);
                }
                has_content(&home.path("precious/file"), b"precious", &row);
            }
            let stays = home.path("served/copy/too much").exists();
            assert_eq!(stays, in_the_way, "it is removed only if all was copied");
        }
    }
}
