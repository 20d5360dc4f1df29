//! A file system that tells its times differently with each look, although nothing changes: what is copied of it is read
//! twice, and good.

mod parts;

use parts::fuse::{Fuse, Restless};
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
