//! A disk whose calls take longer than either side waits for a sign of life: the host lives and works, so that it is
//! waited for.

mod parts;

use std::time::Duration;

use parts::fuse::Fuse;
use parts::support;
use support::serving::Serving;
use support::{Home, expect, has_content, noise};

/// Three times what either side waits.
const CALL: Duration = Duration::from_secs(3);
const MIB: usize = 1 << 20;

/// Each kind of call takes long once, at the side that is served and at the side that calls.
#[test]
fn a_disk_whose_calls_take_longer_than_the_patience_of_both_sides_is_waited_for() {
    let content = noise(5 * MIB + 777, 1);
    std::thread::scope(|scope| {
        for (is_push, is_served) in [(true, true), (true, false), (false, true), (false, false)] {
            let content = &content;
            scope.spawn(move || slow_copy(content, (is_push, is_served)));
        }
    });
}

fn slow_copy(content: &[u8], (is_push, is_served): (bool, bool)) {
    let row = format!("push {is_push}, the disk of the served side {is_served}");
    let (home, fuse) = (Home::new(), Fuse::new());
    let folder = fuse.at("");
    let served = if is_served { &*folder } else { "." };
    let words = ["serve", served, "--ticket-file", "ticket", "--peer-timeout=1s"];
    let serving = Serving::start(home.command(&words));
    if is_push == is_served {
        std::fs::write(home.path("source"), content).expect("room");
    } else {
        fuse.put("source", content);
    }
    let here = |name: &str| match is_served {
        true => home.path(name).display().to_string(),
        false => fuse.at(name),
    };
    let (source, target) = match is_push {
        true => (here("source"), serving.at("target")),
        false => (serving.at("source"), here("target")),
    };
    fuse.slow.begin(CALL);
    let words = ["copy", "--peer-timeout=1s", "--ticket-file", "ticket", &source, &target];
    let run = home.pump(&words);
    expect(&run, 0, &[], &row);
    assert!(!run.err.contains("trying again"), "{row}: {}", run.err);
    let calls = fuse.slow.made();
    assert!(calls.len() >= 4, "{row}: {calls:?}");
    match is_push == is_served {
        true => assert!(fuse.content("target").as_deref() == Some(content), "{row}"),
        false => has_content(&home.path("target"), content, &row),
    }
}
