//! A target that knows neither attributes nor links and folds case gets what it can hold, and the rest is named.

mod parts;

use parts::{support, wider_parts};
use std::os::unix::fs::symlink;
use std::path::Path;

use parts::fuse::{Fault, Fuse};
use support::serving::Serving;
use support::{Home, Outcome, expect, has_content, noise, set_xattr};
use wider_parts::{Kind, Mount, program, pump, pump_with, report, with_content};

fn copy(source: &Path, fuse: &Fuse) -> Outcome {
    pump_with(&["copy", "-T"], &[&source.display().to_string(), &fuse.at("")])
}

#[test]
fn attributes_that_the_target_does_not_know_are_named_and_cost_no_content() {
    let one = Mount::of(Kind::Ext4, 64);
    let content = with_content(&one.at("a"), 10_000, 14);
    program(&["setfattr", "-n", "user.colour", "-v", "red", &one.at("a")]);
    let fuse = Fuse::new();
    let run = pump(&["copy", &one.at("a"), &fuse.at("b")]);
    expect(&run, 23, &["extended attribute user.colour: Operation not supported"], "no attributes there");
    has_content(fuse.at("b").as_ref(), &content, "no attributes there");
}

/// What such a target must hold when all was tried.
fn holds_what_it_can(fuse: &Fuse, run: &Outcome, row: &str) {
    expect(run, 23, &["symlink'"], row);
    assert!(fuse.names().contains(&"folder".into()), "{row}: {:?}", fuse.names());
    let said = ["Readme'", "README'"].iter().filter(|name| run.err.contains(*name)).count();
    assert!(said >= 1, "{row}: the second of two names that are one is named: {run:?}");
    let found = fuse.content("readme").unwrap_or_else(|| panic!("{row}: one of the two is there"));
    assert!([noise(3000, 3000), noise(5000, 5000)].contains(&found), "{row}: it is one of them, whole");
    assert_eq!(fuse.content("other"), Some(noise(100_000, 100_000)), "{row}: the rest is done");
    let temporary = |name: &String| name.starts_with(".pump-") && name != ".pump-job";
    assert!(!fuse.names().iter().any(temporary), "{row}: {:?}", fuse.names());
}

#[test]
fn a_target_that_folds_case_and_has_no_links_gets_what_it_can_hold() {
    let home = Home::new();
    std::fs::create_dir(home.path("served")).expect("room");
    let source = home.path("served/source");
    std::fs::create_dir(&source).expect("room");
    for (name, bytes) in [("Readme", 3000), ("README", 5000), ("other", 100_000), ("with attribute", 10)] {
        std::fs::write(source.join(name), noise(bytes, bytes as u64)).expect("room");
    }
    assert!(set_xattr(&source.join("with attribute"), "user.colour", b"red"));
    symlink("other", source.join("symlink")).expect("room");
    std::fs::create_dir(source.join("folder")).expect("room");
    let fuse = Fuse::folding();
    holds_what_it_can(&fuse, &copy(&source, &fuse), "on one host");

    let with = ["copy", "-T", "--ticket-file", "ticket"];
    let (fuse, serving) = (Fuse::folding(), Serving::new(&home, &[]));
    let run = home.pump(&[&with[..], &[&serving.at("source"), &fuse.at("")]].concat());
    holds_what_it_can(&fuse, &run, "from another host");

    let fuse = Fuse::folding();
    let words = ["serve", &fuse.at(""), "--ticket-file", "ticket"];
    let serving = Serving::start(home.command(&words));
    let run = home.pump(&[&with[..], &["served/source", &serving.at("")]].concat());
    drop(serving);
    holds_what_it_can(&fuse, &run, "to another host");
}

const MIB: usize = 1 << 20;

/// Neither statfs(2) nor a look at the name tells it.
#[test]
fn names_that_a_file_system_refuses_are_known_before_their_bytes_are_moved() {
    const EINVAL: i32 = 22;
    const ENAMETOOLONG: i32 = 36;
    let home = Home::new();
    std::fs::create_dir_all(home.path("served/source")).expect("room");
    let long = "n".repeat(200);
    for (refused, errno, words) in [
        (
            &*long,
            ENAMETOOLONG,
            "the name is too long for the file system of its folder; give it a shorter one",
        ),
        ("a:b", EINVAL, "the file system of its folder refuses this name; give it another one"),
    ] {
        let source = home.path("served/source");
        std::fs::write(source.join(refused), noise(8 * MIB, 1)).expect("room");
        std::fs::write(source.join("usual"), noise(3 * MIB, 2)).expect("room");
        let from = source.join(refused).display().to_string();
        let is_clean = |fuse: &Fuse, row: &str| {
            assert!(
                !fuse.names().iter().any(|name| name.starts_with(".pump-") && name != ".pump-job"),
                "{row}"
            );
        };
        for options in [&[][..], &["--inplace"], &["--direct=always"]] {
            let row = format!("{refused} {options:?}");
            let fuse = Fuse::new();
            fuse.fail(Some(Fault::Name(143, errno)));
            let run = pump_with(&["copy", "--json", &from, &fuse.at("")], options);
            expect(&run, 1, &["create '", words], &row);
            assert_eq!(report(&run)["bytes_moved"], 0, "{row}");
            is_clean(&fuse, &row);
            if options.contains(&"--inplace") {
                continue; // is for single files
            }
            let run = pump_with(&["copy", "--json", &source.display().to_string(), &fuse.at("new")], options);
            expect(&run, 23, &["create '", words], &row);
            assert_eq!(report(&run)["bytes_moved"], 3 * MIB, "{row}: {run:?}");
            assert_eq!(fuse.content("new/usual"), Some(noise(3 * MIB, 2)), "{row}");
        }
        let with = ["copy", "--json", "--ticket-file", "ticket"];
        let (fuse, serving) = (Fuse::new(), Serving::new(&home, &[]));
        fuse.fail(Some(Fault::Name(143, errno)));
        let run = home.pump(&[&with[..], &[&serving.at("source"), &fuse.at("new")]].concat());
        expect(&run, 23, &["create '", words], "from another host");
        assert_eq!(fuse.content("new/usual"), Some(noise(3 * MIB, 2)), "from another host");
        drop(serving);
        let serving = Serving::start(home.command(&["serve", &fuse.at(""), "--ticket-file", "ticket"]));
        let run = home.pump(&[&with[..], &[&from, &serving.at("")]].concat());
        expect(&run, 1, &["create '", words], "to another host");
        assert_eq!(report(&run)["bytes_moved"], 0, "to another host: {run:?}");
        drop(serving);
        is_clean(&fuse, "to another host");
        std::fs::remove_file(source.join(refused)).expect("it was made");
    }
}
