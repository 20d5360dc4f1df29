//! Mirrors of a tree that lives: files come and go in one of its folders, and move there from another, as fast as the
//! row says, while mirror after mirror runs.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::support::running::Running;
use crate::support::serving::Serving;
use crate::support::{Home, expect};
use crate::wider_parts::pump_command;

/// Files that move while mirrors run.
const MOVING: usize = 2000;

/// Mirrors of each row; 200 in the full suite.
fn mirrors() -> usize {
    std::env::var("DATAPUMP_MIRRORS").ok().and_then(|count| count.parse().ok()).unwrap_or(6)
}

fn moving(at: usize) -> String {
    format!("moving-{at}")
}

/// One change of the source after another, until it is over.
fn live(source: &Path, every: Duration, is_over: &AtomicBool, moved: &AtomicUsize) {
    let new = source.with_file_name("new");
    for step in 0.. {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        let (logs, at) = (source.join("logs"), step / 4);
        let moving = moving(at % MOVING);
        // New files are whole under their names; removed ones nobody misses.
        match step % 4 {
            0 => fs::write(&new, format!("log {at}"))
                .and_then(|()| fs::rename(&new, logs.join(format!("log-{at}"))))
                .expect("room"),
            1 if at > 3 => fs::remove_file(logs.join(format!("log-{}", at - 3))).expect("it came"),
            2 if at < MOVING => {
                fs::rename(source.join("inbox").join(&moving), logs.join(&moving)).expect("it was there");
                moved.fetch_max(at + 1, Ordering::Relaxed);
            }
            3 if at < MOVING => {
                fs::rename(logs.join(&moving), logs.join(format!("{moving}.1"))).expect("it came");
            }
            _ => {}
        }
        std::thread::sleep(every);
    }
}

fn has_copy(target: &Path, at: usize) -> bool {
    let name = moving(at);
    let places = [format!("inbox/{name}"), format!("logs/{name}"), format!("logs/{name}.1")];
    places.iter().any(|place| fs::read(target.join(place)).is_ok_and(|content| content == name.as_bytes()))
}

/// Ends the life of a source, also where a test fails.
struct Ends<'life>(&'life AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Mirrors while the source lives; gives how many ended with 0 and with 24.
fn mirror_again_and_again(home: &Home, words: &[&str], (every, row): (Duration, &str)) -> [usize; 2] {
    let (source, target) = (home.path("served/source"), home.path("served/target"));
    for folder in ["logs", "inbox", "elsewhere/deep", "quiet"] {
        fs::create_dir_all(source.join(folder)).expect("room");
        fs::write(source.join(folder).join("stays"), folder).expect("room");
    }
    (0..MOVING).for_each(|at| fs::write(source.join("inbox").join(moving(at)), moving(at)).expect("room"));
    let run = || Running::start(pump_command(words)).end();
    expect(&run(), 0, &[], row);
    let (is_over, moved, mut ends) = (AtomicBool::new(false), AtomicUsize::new(0), [0, 0]);
    std::thread::scope(|scope| {
        scope.spawn(|| live(&source, every, &is_over, &moved));
        let _ends = Ends(&is_over);
        for mirror in 0..mirrors() {
            let removed = ["elsewhere/old", "elsewhere/deep/old", "gone/below/old", "quiet/old"];
            fs::create_dir_all(target.join("gone/below")).expect("room");
            for name in removed.iter().chain(&["logs/old"]) {
                fs::write(target.join(name), "old").expect("room");
            }
            let ended = run();
            let row = format!("{row}, mirror {mirror}: {ended:?}");
            match ended.status {
                0 => ends[0] += 1,
                24 => ends[1] += 1,
                _ => panic!("{row}"),
            }
            for name in removed {
                assert!(!target.join(name).exists(), "{name} stays: {row}");
            }
            assert!(
                ended.status == 24 || !target.join("logs/old").exists(),
                "it stays, and nobody says so: {row}"
            );
            // Errors name what lives alone.
            let errors = ended.err.lines().filter(|line| line.starts_with("pump: "));
            let of_others =
                |line: &&str| line.contains('\'') && !line.contains("/logs") && !line.contains("/inbox");
            assert_eq!(errors.filter(of_others).collect::<Vec<_>>(), [""; 0], "{row}");
            for at in 0..MOVING.min(moved.load(Ordering::Relaxed) + 1) {
                assert!(has_copy(&target, at), "{} has no copy: {row}", moving(at));
            }
        }
    });
    expect(&run(), 0, &[], &format!("{row}: quiet"));
    let differ =
        std::process::Command::new("diff").arg("-r").args([&source, &target]).output().expect("diff");
    assert!(differ.status.success(), "{row}: {}", String::from_utf8_lossy(&differ.stdout));
    ends
}

#[test]
fn a_tree_that_lives_is_pruned_where_it_is_quiet_and_loses_nothing_that_moves() {
    for every_ms in [100, 2] {
        for way in ["local", "pushed", "pulled"] {
            let home = Home::new();
            fs::create_dir_all(home.path("served/target")).expect("room");
            let serving = Serving::new(&home, &[]);
            let [source, target, ticket] = ["served/source/", "served/target", "ticket"]
                .map(|name| format!("{}/{name}", home.path("").display().to_string().trim_end_matches('/')));
            let places = match way {
                "local" => [source, target],
                "pushed" => [source, serving.at("target")],
                _ => [serving.at("source/"), target],
            };
            let words = ["mirror", "--ticket-file", &ticket, &places[0], &places[1]];
            let row = format!("{way}, a change each {every_ms} ms");
            let ends = mirror_again_and_again(&home, &words, (Duration::from_millis(every_ms), &row));
            println!("{row}: {} ended with 0, {} with 24", ends[0], ends[1]);
        }
    }
}
