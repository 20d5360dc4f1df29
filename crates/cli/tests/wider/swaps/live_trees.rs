//! Mirrors of a tree that lives: files come and go in one of its folders, and move there from another, as fast as the
//! row says, while mirror after mirror runs. Or files change all the time that they are copied: a database that is
//! written to in place, logs that grow, files that are removed before they are read to their ends.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::support::running::Running;
use crate::support::serving::Serving;
use crate::support::{Home, Outcome, expect};
use crate::wider_parts::pump_command;
use rustix::process::Signal;

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

/// Whether a mirror says of a folder that it was restless.
fn says_restless(ended: &Outcome, folder: &str) -> bool {
    let of_folder = |line: &str| line.contains(&format!("/{folder}'"));
    let mut lines = ended.err.lines();
    ended.status == 24
        && lines.any(|line| of_folder(line) && line.contains("changed each time it was looked at"))
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
        let is_enough = |mirror: &usize| *mirror >= mirrors() && moved.load(Ordering::Relaxed) > 0;
        for mirror in (0..1000).take_while(|mirror| !is_enough(mirror)) {
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
            let is_named = says_restless(&ended, "logs");
            assert!(is_named || !target.join("logs/old").exists(), "it stays, and nobody says so: {row}");
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
    assert!(moved.load(Ordering::Relaxed) > 0, "{row}: nothing moved while it was mirrored");
    expect(&run(), 0, &[], &format!("{row}: quiet"));
    let differ =
        std::process::Command::new("diff").arg("-r").args([&source, &target]).output().expect("diff");
    assert!(differ.status.success(), "{row}: {}", String::from_utf8_lossy(&differ.stdout));
    ends
}

/// A home whose folder is served, and the words of a slow mirror in it.
fn served(way: &str) -> (Home, Serving, Vec<String>) {
    let home = Home::new();
    fs::create_dir_all(home.path("served")).expect("room");
    let serving = Serving::new(&home, &[]);
    let words = way_of(&home, &serving, way, &SLOW);
    (home, serving, words)
}

/// Source and target of a way, and the words of a mirror between them.
fn way_of(home: &Home, serving: &Serving, way: &str, flags: &[&str]) -> Vec<String> {
    let top = home.path("").display().to_string();
    let at = |name: &str| format!("{}/{name}", top.trim_end_matches('/'));
    let places = match way {
        "local" => [at("served/source/"), at("served/target")],
        "pushed" => [at("served/source/"), serving.at("target")],
        _ => [serving.at("source/"), at("served/target")],
    };
    let ticket = at("ticket");
    let words = ["mirror", "--ticket-file", &ticket].into_iter().chain(flags.iter().copied());
    words.map(String::from).chain(places).collect()
}

#[test]
fn a_tree_that_lives_is_pruned_where_it_is_quiet_and_loses_nothing_that_moves() {
    for every_ms in [100, 2] {
        for way in ["local", "pushed", "pulled"] {
            let home = Home::new();
            fs::create_dir_all(home.path("served/target")).expect("room");
            let serving = Serving::new(&home, &[]);
            let words = way_of(&home, &serving, way, &[]);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let row = format!("{way}, a change each {every_ms} ms");
            let ends = mirror_again_and_again(&home, &words, (Duration::from_millis(every_ms), &row));
            println!("{row}: {} ended with 0, {} with 24", ends[0], ends[1]);
        }
    }
}

/// Bytes of a file that changes while it is copied: a quarter of a second, as fast as these mirrors copy.
const BUSY_BYTES: usize = 512 << 10;
const SLOW: [&str; 2] = ["--bwlimit=2MiB", "--request-size=64KiB"];

/// One change after the other, until it is over.
fn until(is_over: &AtomicBool, every_ms: u64, mut change: impl FnMut(usize)) {
    for step in 0.. {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        change(step);
        std::thread::sleep(Duration::from_millis(every_ms));
    }
}

/// A database that is written to in place.
fn rewrite(file: &Path, is_over: &AtomicBool) {
    let file = fs::File::options().write(true).open(file).expect("it was made");
    until(is_over, 1, |step| {
        let at = (step * 4099 % BUSY_BYTES) as u64;
        file.write_all_at(&step.to_le_bytes()[..1], at).expect("room");
    });
}

fn grow(file: &Path, is_over: &AtomicBool) {
    let file = fs::File::options().append(true).open(file).expect("it was made");
    until(is_over, 1, |_| std::io::Write::write_all(&mut &file, b"a line more\n").expect("room"));
}

/// Each file is removed while it is read: it takes longer to be copied than it lives.
fn come_and_go(source: &Path, is_over: &AtomicBool) {
    let (new, folder) = (source.with_file_name("new"), source.join("logs"));
    until(is_over, 100, |step| {
        fs::write(&new, vec![7; BUSY_BYTES]).expect("room");
        fs::rename(&new, folder.join(format!("log-{step}"))).expect("its folder stays");
        if step > 0 {
            fs::remove_file(folder.join(format!("log-{}", step - 1))).expect("it was made");
        }
    });
}

/// The life of one folder of a source.
type Life = fn(&Path, &AtomicBool);

/// A home with a source of which `names` are files that will change, and its mirror.
fn mirrored(home: &Home, names: &[&str], words: &[&str]) {
    let source = home.path("served/source");
    for name in ["elsewhere/stays", "quiet/stays"].iter().chain(names) {
        let file = source.join(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("room");
        let bytes = if name.ends_with("small") { 4000 } else { BUSY_BYTES };
        fs::write(file, vec![1; bytes]).expect("room");
    }
    fs::create_dir_all(home.path("served/target")).expect("room");
    expect(&Running::start(pump_command(words)).end(), 0, &[], "the first mirror");
}

fn too_much(home: &Home, names: &[&str]) {
    for name in names {
        let file = home.path("served/target").join(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("room");
        fs::write(file, "old").expect("room");
    }
}

/// Errors and warnings that name none of these folders.
fn of_others<'err>(err: &'err str, folders: &[&str]) -> Vec<&'err str> {
    let names_one = |line: &&str| folders.iter().any(|folder| line.contains(&format!("/{folder}")));
    let is_said = |line: &&str| line.starts_with("pump: ") && line.contains('\'');
    err.lines().filter(is_said).filter(|line| !names_one(line)).collect()
}

/// Mirrors twice while a file lives; gives the ends that named it.
fn mirror_beside(home: &Home, (folder, words): (&str, &[&str]), life: Life, row: &str) -> usize {
    let (is_over, mut named) = (AtomicBool::new(false), 0);
    let source = home.path("served/source");
    std::thread::scope(|scope| {
        let ends = Ends(&is_over);
        scope.spawn(|| life(&source, &is_over));
        for mirror in 0..2 {
            let elsewhere = ["elsewhere/old", "quiet/old", "gone/below/old"];
            let own = format!("{folder}/old");
            too_much(home, &elsewhere);
            too_much(home, &[&own]);
            let ended = Running::start(pump_command(words)).end();
            let row = format!("{row}, mirror {mirror}: {ended:?}");
            assert!([0, 24].contains(&ended.status), "{row}");
            for name in elsewhere {
                assert!(!home.path("served/target").join(name).exists(), "{name} stays: {row}");
            }
            let own_stays = home.path("served/target").join(own).exists();
            let is_named = says_restless(&ended, folder);
            assert!(is_named || !own_stays, "it stays, and nobody says so: {row}");
            assert_eq!(of_others(&ended.err, &[folder]), [""; 0], "{row}");
            named += usize::from(ended.status == 24);
        }
        drop(ends);
    });
    let quiet = Running::start(pump_command(words)).end();
    expect(&quiet, 0, &[], &format!("{row}: quiet"));
    let places = ["served/source", "served/target"].map(|place| home.path(place));
    let differ = std::process::Command::new("diff").arg("-r").args(&places).output().expect("diff");
    assert!(differ.status.success(), "{row}: {}", String::from_utf8_lossy(&differ.stdout));
    named
}

#[test]
fn what_changes_while_it_is_copied_keeps_the_names_of_its_own_folder_alone() {
    let lives: [(&str, &[&str], Life); 4] = [
        ("db", &["db/data"], |source, is_over| rewrite(&source.join("db/data"), is_over)),
        ("grows", &["grows/log"], |source, is_over| grow(&source.join("grows/log"), is_over)),
        ("grows", &["grows/small"], |source, is_over| grow(&source.join("grows/small"), is_over)),
        ("logs", &["logs/stays"], come_and_go),
    ];
    for (folder, names, life) in lives {
        let mut named = 0;
        for way in ["local", "pushed", "pulled"] {
            let (home, _serving, words) = served(way);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            mirrored(&home, names, &words);
            named += mirror_beside(&home, (folder, &words), life, &format!("{names:?} {way}"));
        }
        println!("{names:?}: {named} of 6 ended with 24");
        // A small file is copied in less time than it takes to grow: 2 of 6 alone, and none beside other tests.
        let is_small = names[0].ends_with("small");
        assert!(named > 0 || is_small, "{names:?}: it never changed while it was copied");
    }
}

/// It may be one of the names that would be removed, under a new name: the target has no other copy of it.
#[test]
fn what_changes_each_time_and_has_no_copy_keeps_all() {
    for way in ["local", "pushed", "pulled"] {
        let (home, _serving, words) = served(way);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        mirrored(&home, &["db/data"], &words);
        let (source, target) = (home.path("served/source"), home.path("served/target"));
        fs::rename(source.join("db/data"), source.join("elsewhere/renamed")).expect("it was made");
        // A file in the place of a folder, which therefore stays.
        fs::write(source.join("quiet/folder"), "a file").expect("room");
        too_much(&home, &["quiet/folder/in it"]);
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let ends = Ends(&is_over);
            scope.spawn(|| rewrite(&source.join("elsewhere/renamed"), &is_over));
            let ended = Running::start(pump_command(&words)).end();
            let parts = [
                "nothing was removed, because '",
                "/elsewhere/renamed' could not be copied while the source changed and the target has no copy of it",
                "elsewhere/renamed': the source was rewritten",
                "quiet/folder'",
                "is a folder, and the source is none: it stays because the source changed meanwhile",
            ];
            expect(&ended, 24, &parts, way);
            assert!(target.join("db/data").exists(), "{way}: its only copy");
            assert!(target.join("quiet/folder/in it").exists(), "{way}: nothing was removed");
            drop(ends);
        });
        expect(&Running::start(pump_command(&words)).end(), 0, &[], way);
        assert!(!target.join("db/data").exists() && target.join("elsewhere/renamed").exists(), "{way}");
        assert!(target.join("quiet/folder").is_file(), "{way}: nothing keeps it from being copied");
    }
}

/// A file has the name of a folder that the target has, and gets another name while that folder is removed.
#[test]
fn what_moves_while_the_folder_in_its_place_is_removed_has_a_copy() {
    const MANY: usize = 20_000;
    for way in ["local", "pushed", "pulled"] {
        let home = Home::new();
        let (source, target) = (home.path("served/source"), home.path("served/target"));
        for folder in [&source, &target.join("moved")] {
            fs::create_dir_all(folder).expect("room");
        }
        (0..MANY).for_each(|at| fs::write(target.join(format!("moved/{at}")), "").expect("room"));
        fs::write(source.join("moved"), "precious").expect("room");
        fs::write(target.join("old name"), "precious").expect("room");
        let serving = Serving::new(&home, &[]);
        let words = way_of(&home, &serving, way, &["--sync=none"]);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let folder = target.join("moved");
        let changed = || fs::metadata(&folder).and_then(|meta| meta.modified()).ok();
        let before = changed();
        let running = Running::start(pump_command(&words));
        while changed() == before && !running.has_ended() {
            std::thread::sleep(Duration::from_micros(200));
        }
        running.signal(Signal::STOP);
        fs::rename(source.join("moved"), source.join("new name")).expect("it was made");
        running.signal(Signal::CONT);
        let ended = running.end();
        assert!([0, 24].contains(&ended.status), "{way}: {ended:?}");
        let content = fs::read(target.join("new name")).ok();
        assert_eq!(content.as_deref(), Some(&b"precious"[..]), "{way}: {ended:?}");
        assert!(!target.join("moved").exists() && !target.join("old name").exists(), "{way}: {ended:?}");
    }
}

/// A folder in the way lies in one that is not quiet, which keeps its own names.
#[test]
fn a_folder_in_the_way_in_a_restless_folder_stays_until_it_is_quiet() {
    for way in ["local", "pushed", "pulled"] {
        let (home, _serving, words) = served(way);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        mirrored(&home, &["logs/stays"], &words);
        let (source, target) = (home.path("served/source"), home.path("served/target"));
        fs::write(source.join("logs/folder"), "a file").expect("room");
        too_much(&home, &["logs/folder/in it", "elsewhere/old name"]);
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let ends = Ends(&is_over);
            scope.spawn(|| come_and_go(&source, &is_over));
            let ended = Running::start(pump_command(&words)).end();
            assert!([0, 24].contains(&ended.status), "{way}: {ended:?}");
            let is_copied = target.join("logs/folder").is_file();
            assert_ne!(is_copied, target.join("logs/folder/in it").exists(), "{way}: {ended:?}");
            assert!(is_copied || target.join("elsewhere/old name").exists(), "{way}: {ended:?}");
            assert!(is_copied || ended.err.contains("logs/folder'"), "{way}: {ended:?}");
            println!("{way}: status {}, copied: {is_copied}", ended.status);
            drop(ends);
        });
        expect(&Running::start(pump_command(&words)).end(), 0, &[], way);
        assert!(target.join("logs/folder").is_file() && !target.join("elsewhere/old name").exists(), "{way}");
    }
}
