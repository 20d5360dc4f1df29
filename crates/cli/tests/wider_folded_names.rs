//! Targets whose file system takes two names of the source for one: by case, also of letters that are not ASCII.
#![cfg(feature = "wider")]

mod support;
mod wider_parts;

use std::fs;
use std::path::Path;

use support::{Home, Outcome, expect, has_content, set_mtime};
use wider_parts::fuse::Fuse;
use wider_parts::pump;

const TIME_NS: u64 = 1_700_000_000_000_000_000;

/// Makes files with what folders they lie in, all of one time.
fn make(folder: &Path, files: &[(&str, &str)]) {
    for (name, content) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("it lies in the folder")).expect("room");
        fs::write(&path, content).expect("room");
        set_mtime(&path, TIME_NS);
    }
}

fn mirror(home: &Home, fuse: &Fuse, options: &[&str]) -> Outcome {
    let (from, to) = (home.path("from").display().to_string(), fuse.at("to"));
    pump(&[&["copy", "-T", "--delete"], options, &[&from, &to]].concat())
}

const WAYS: [&[&str]; 4] = [&[], &["--update"], &["--checksum"], &["--update", "--lanes", "1"]];

#[test]
fn a_name_that_only_changed_its_case_is_not_removed() {
    for options in WAYS {
        let (home, fuse) = (Home::new(), Fuse::folding());
        make(&home.path("from"), &[("Фото", "new"), ("Альбом/Лето", "new"), ("README", "new")]);
        let there = [("фото", "old"), ("альбом/лето", "old"), ("readme", "old"), ("лишнее", "old")];
        make(Path::new(&fuse.at("to")), &there);
        for name in ["фото", "альбом/лето", "readme"] {
            set_mtime(Path::new(&fuse.at(&format!("to/{name}"))), 0);
        }
        expect(&mirror(&home, &fuse, options), 0, &[], &format!("{options:?}"));
        for name in ["Фото", "Альбом/Лето", "README"] {
            has_content(Path::new(&fuse.at(&format!("to/{name}"))), b"new", &format!("{options:?} {name}"));
        }
        assert!(!Path::new(&fuse.at("to/лишнее")).exists(), "{options:?}: what is too much is removed");
    }
}

#[test]
fn the_second_of_two_names_that_are_one_is_refused_and_nothing_is_removed() {
    for options in WAYS {
        let (home, fuse) = (Home::new(), Fuse::folding());
        make(&home.path("from"), &[("É", "one"), ("é", "two"), ("sub/A", "one"), ("sub/a", "two")]);
        make(Path::new(&fuse.at("to")), &[("é", "one"), ("sub/too much", "kept"), ("too much", "kept")]);
        let run = mirror(&home, &fuse, options);
        expect(&run, 23, &["takes for the same", "nothing was removed"], &format!("{options:?}"));
        assert_eq!(run.err.matches("takes for the same").count(), 2, "{options:?}: each is told: {run:?}");
        for name in ["to/sub/too much", "to/too much"] {
            has_content(Path::new(&fuse.at(name)), b"kept", &format!("{options:?}"));
        }
    }
}

#[test]
fn two_folders_that_are_one_are_not_merged() {
    for options in WAYS {
        let (home, fuse) = (Home::new(), Fuse::folding());
        make(&home.path("from"), &[("Дом/one", "one"), ("дом/two", "two")]);
        make(Path::new(&fuse.at("to")), &[("дом/one", "one"), ("дом/two", "two"), ("дом/old", "old")]);
        let run = mirror(&home, &fuse, options);
        expect(&run, 23, &["takes for the same", "nothing was removed"], &format!("{options:?}"));
        for (name, content) in [("one", "one"), ("two", "two"), ("old", "old")] {
            let path = fuse.at(&format!("to/дом/{name}"));
            has_content(Path::new(&path), content.as_bytes(), &format!("{options:?}"));
        }
    }
}
