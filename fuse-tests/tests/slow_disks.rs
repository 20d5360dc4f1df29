//! A disk whose calls take longer than either side waits for a sign of life: the host lives and works, so that it is
//! waited for. One whose calls never end: a second signal ends the run.

mod parts;

use std::time::Duration;

use parts::fuse::Fuse;
use parts::support;
use rustix::process::Signal;
use support::running::{Running, eventually};
use support::serving::Serving;
use support::{Home, expect, has_content, noise};

/// Three times what either side waits.
const CALL: Duration = Duration::from_secs(3);
/// Longer than two signals take.
const HANG: Duration = Duration::from_secs(15);
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
    let here = |name: &str| if is_served { home.path(name).display().to_string() } else { fuse.at(name) };
    let (source, target) =
        if is_push { (here("source"), serving.at("target")) } else { (serving.at("source"), here("target")) };
    fuse.slow.begin(CALL);
    let words = ["copy", "--peer-timeout=1s", "--ticket-file", "ticket", &source, &target];
    let run = home.pump(&words);
    expect(&run, 0, &[], &row);
    assert!(!run.err.contains("trying again"), "{row}: {}", run.err);
    let calls = fuse.slow.made();
    assert!(calls.len() >= 4, "{row}: {calls:?}");
    if is_push == is_served {
        assert!(fuse.content("target").as_deref() == Some(content), "{row}");
    } else {
        has_content(&home.path("target"), content, &row);
    }
}

/// The first signal is answered as far as calls return.
#[test]
fn a_second_signal_ends_a_run_whose_disk_hangs() {
    std::thread::scope(|scope| {
        for signal in [Signal::TERM, Signal::INT] {
            // A file that is named is looked at before the run begins: that waits for the disk.
            for words in [["mirror", "folder/", "target"], ["verify", "folder", "other"]] {
                scope.spawn(move || ends_while_its_disk_hangs(words, signal));
            }
        }
    });
}

/// One call keeps the file system busy, so that those of the run wait for it.
fn ends_while_its_disk_hangs([command, from, to]: [&str; 3], signal: Signal) {
    let (home, fuse) = (Home::new(), Fuse::new());
    std::fs::create_dir(fuse.at("folder")).expect("room");
    std::fs::create_dir(home.path("other")).expect("room");
    fuse.slow.begin(HANG);
    let name = fuse.at("nothing");
    let busy = std::thread::spawn(move || std::fs::exists(name));
    eventually("the disk is busy", || !fuse.slow.made().is_empty());
    let run = Running::start(home.command(&[command, &fuse.at(from), to]));
    eventually("signals are taken over", || catches(&run, signal));
    eventually("it ends", || {
        run.signal(signal);
        std::thread::sleep(Duration::from_millis(200));
        run.has_ended()
    });
    assert!(!busy.is_finished(), "{command} {signal:?}: it waited for the disk");
    expect(&run.end(), 20, &[], command);
    busy.join().expect("no panic").expect("it is only slow");
}

/// proc_pid_status(5): a bit for each signal from 1.
fn catches(run: &Running, signal: Signal) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", run.id())).expect("it runs");
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("a mask");
    let mask = u64::from_str_radix(mask.trim(), 16).expect("digits");
    mask & (1 << (signal.as_raw() - 1)) != 0
}
