//! File systems that tell times otherwise than they are: differently with each look, although nothing changes (what is
//! copied of it is read twice, and good); or in even seconds, as FAT does.

mod parts;

use parts::fuse::{Fuse, Restless};
use parts::refusing::RefusingDisk;
use parts::{support, wider_parts};
use support::serving::Serving;
use support::{Home, expect, noise};
use wider_parts::pump;

#[test]
fn times_that_never_rest_cost_no_copy_and_keep_no_mirror_from_removing() {
    for restless in [Restless::Changed, Restless::Modified] {
        let fuse = Fuse::new();
        let (large, small) = (noise(3 << 20, 1), noise(5000, 2));
        fuse.put("large", &large);
        fuse.put("small", &small);
        fuse.unsettle(restless);
        let home = Home::new();
        let serving = Serving::start(home.command(&["serve", &fuse.at(""), "--ticket-file", "ticket"]));
        let ticket = home.path("ticket").display().to_string();
        for from in [fuse.at(""), serving.at("")] {
            for flags in ["", "--verify", "--checksum"] {
                let row = format!("{restless:?} {from} {flags}");
                let copy = home.path("copy");
                let _ = std::fs::remove_dir_all(&copy);
                std::fs::create_dir(&copy).expect("room");
                std::fs::write(copy.join("old"), "too much").expect("room");
                let to = copy.display().to_string();
                let words = ["mirror", "--ticket-file", &ticket, &from, &to];
                let flags: Vec<&str> = flags.split_whitespace().collect();
                expect(&pump(&[&words[..], &flags].concat()), 0, &[], &row);
                support::has_content(&copy.join("large"), &large, &row);
                support::has_content(&copy.join("small"), &small, &row);
                assert!(!copy.join("old").exists(), "{row}: it was too much");
                let words = ["verify", "--content-only", "--ticket-file", &ticket, &from, &to];
                expect(&pump(&words), 0, &[], &row);
            }
        }
        expect(&pump(&["hash", &fuse.at("large")]), 0, &[], "hashed");
    }
}

/// What was rewritten within two seconds of its copy has that copy's time.
#[test]
fn what_was_rewritten_in_the_two_seconds_of_its_copy_is_copied_anew() {
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    let (disk, home) = (RefusingDisk::new(), Home::new());
    disk.tell_even_seconds();
    std::fs::create_dir(home.path("from")).expect("room");
    let file = home.path("from/file");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later");
    let even = UNIX_EPOCH + Duration::from_secs(now.as_secs() & !1);
    let set = |after_ms| {
        let time = even + Duration::from_millis(after_ms);
        let open = std::fs::OpenOptions::new().write(true).open(&file).expect("it is there");
        open.set_modified(time).expect("its own");
    };
    for (row, flags, removes) in [
        ("mirror", &["mirror"][..], false),
        ("removed", &["copy", "-T", "--update=differs", "--remove-source-files"], true),
    ] {
        let to = disk.at(row);
        let from = home.path("from").display().to_string();
        std::fs::write(&file, "OLD").expect("room");
        set(100);
        expect(&pump(&["copy", "-T", &from, &to]), 0, &[], row);
        std::fs::write(&file, "NEW").expect("room");
        set(1_400);
        expect(&pump(&[flags, &[&from, &to]].concat()), 0, &[], row);
        support::has_content(disk.at(&format!("{row}/file")).as_ref(), b"NEW", row);
        assert_eq!(!file.exists(), removes, "{row}");
    }
}
