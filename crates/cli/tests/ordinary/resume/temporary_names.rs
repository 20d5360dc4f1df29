//! Files of a source with names like those of temporary files (`.pump-` and 16 digits) are copied like any other, and
//! neither they nor what has the same name at the target is ever taken for a leftover. What a pump uses or can resume
//! is left out, told and counted.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::support::listing::stamps;
use crate::support::running::{Running, eventually};
use crate::support::serving::Serving;
use crate::support::told::left;
use crate::support::{
    Home, Outcome, expect, has_content, make_folder, make_symlink, noise_file, set_mode, set_mtime,
};
use rustix::fs::{FlockOperation, flock};
use rustix::process::Signal;

const NAME: &str = ".pump-0123456789abcdef";
const LEFT_OUT: &str = "has the name of a temporary file of pump";
/// Larger than a request: such a file is written under a temporary name.
const LARGE: usize = 3_000_001;

/// The first temporary name of a file: FNV-1a of 64 bits.
fn temporary(name: &str) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!(".pump-{:016x}", name.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}

fn run(home: &Home, words: &str, status: i32, parts: &[&str]) -> Outcome {
    let run = home.pump(&words.split(' ').collect::<Vec<_>>());
    expect(&run, status, parts, words);
    run
}

fn number(run: &Outcome, field: &str) -> u64 {
    run.report()[field].as_u64().unwrap_or_else(|| panic!("{field}: {run:?}"))
}

/// All that the source has stands at the target, too.
fn same(home: &Home, row: &str) {
    for entry in fs::read_dir(home.path("from")).expect("it is there") {
        let (name, kind) = entry.map(|entry| (entry.file_name(), entry.file_type())).expect("an entry");
        let (from, to) = (home.path("from").join(&name), home.path("to").join(&name));
        match kind.expect("it tells") {
            kind if kind.is_file() => has_content(&to, &fs::read(&from).expect("it is there"), row),
            kind => assert_eq!(to.symlink_metadata().expect(row).file_type(), kind, "{row}: {name:?}"),
        }
    }
    run(home, "verify from to", 0, &[]);
}

fn locked(path: &Path) -> File {
    let file = File::open(path).expect("it is there");
    flock(&file, FlockOperation::LockExclusive).expect("nobody else has it");
    file
}

/// A folder with the temporary file, and its journal, of a copy that was cut; gives the name of the file.
fn cut_in(home: &Home, folder: &str) -> String {
    noise_file(home, "cut-source", 72 << 20 | 777, 1);
    let target = format!("{folder}/large");
    let running = Running::start(home.command(&["copy", "-q", "--bwlimit=40MB", "cut-source", &target]));
    let has_begun = || left(&home.path(folder)).is_some_and(|left| left.told(false) >= 4 << 20);
    eventually("some of it", || has_begun() || running.has_ended());
    running.signal(Signal::INT);
    assert_eq!(running.end().status, 20);
    fs::remove_file(home.path("cut-source")).expect("it is ours");
    temporary("large")
}

/// A source with ordinary things that bear such names.
fn ordinary(home: &Home, root: &str) {
    make_folder(home, root);
    noise_file(home, &format!("{root}/{NAME}"), 1000, 1);
    noise_file(home, &format!("{root}/{NAME}.journal"), 700, 2);
    noise_file(home, &format!("{root}/.pump-aaaaaaaaaaaaaaaa"), LARGE, 3);
    make_symlink(home, "nowhere", &format!("{root}/.pump-bbbbbbbbbbbbbbbb"));
    make_folder(home, &format!("{root}/.pump-cccccccccccccccc"));
    noise_file(home, &format!("{root}/.pump-cccccccccccccccc/{NAME}"), 300, 4);
    fs::hard_link(home.path(format!("{root}/{NAME}")), home.path(format!("{root}/linked"))).expect("room");
}

#[test]
fn they_are_copied_and_compared_like_any_other() {
    let home = Home::new();
    ordinary(&home, "from");
    let copied = run(&home, "copy --json from to", 0, &[]);
    assert_eq!((number(&copied, "files"), number(&copied, "skipped")), (4, 0), "{copied:?}");
    run(&home, "verify from to", 0, &[]);
    let again = run(&home, "copy --json -uT --delete from to", 0, &[]);
    assert_eq!(number(&again, "files"), 0, "{again:?}");
    noise_file(&home, &format!("from/{NAME}"), 900, 9);
    run(&home, "copy -uT --delete from to", 0, &[]);
    run(&home, "verify from to", 0, &[]);
}

#[test]
fn a_file_and_another_with_its_temporary_name_are_both_copied() {
    let home = Home::new();
    make_folder(&home, "from");
    let change = |seed: u64| {
        for name in ["a", "b", "c", "d"] {
            let of_it = temporary(name);
            noise_file(&home, &format!("from/{name}"), LARGE, seed);
            noise_file(&home, &format!("from/{of_it}"), LARGE, seed + 10);
            noise_file(&home, &format!("from/{of_it}.journal"), 500, seed + 20);
            noise_file(&home, &format!("from/{}", temporary(&of_it)), 500, seed + 30);
        }
        for name in ["small", "tiny"] {
            noise_file(&home, &format!("from/{name}"), 300, seed);
            noise_file(&home, &format!("from/{}", temporary(name)), 300, seed + 1);
        }
        let link = home.path("from/link");
        let _ = fs::remove_file(&link);
        make_symlink(&home, &format!("to-{seed}"), "from/link");
        noise_file(&home, &format!("from/{}", temporary("link")), 300, seed + 2);
    };
    for (seed, words) in [(1, "copy -T from to"), (2, "copy -T from to"), (3, "copy -uT --delete from to")] {
        change(seed);
        run(&home, words, 0, &[]);
        same(&home, "a copy");
    }
    // What stands there from before is no leftover, although only the other changed.
    for name in ["a", "small", "link"] {
        let path = home.path(format!("from/{name}"));
        fs::remove_file(&path).expect("it is ours");
        match name {
            "link" => make_symlink(&home, "elsewhere", "from/link"),
            _ => drop(noise_file(&home, &format!("from/{name}"), LARGE, 99)),
        }
        run(&home, "copy -uT from to", 0, &[]);
        same(&home, "a copy");
    }
}

#[test]
fn what_is_in_use_or_can_be_resumed_is_left_out_and_counted() {
    let home = Home::new();
    make_folder(&home, "from");
    let cut = cut_in(&home, "from");
    noise_file(&home, &format!("from/{NAME}"), 1000, 1);
    noise_file(&home, "from/file", 1000, 2);
    make_folder(&home, "served");
    let lock = locked(&home.path(format!("from/{NAME}")));
    let left_out = |words: &str, lands: &str, skipped: u64| {
        let copied = run(&home, words, 0, &[LEFT_OUT, "left out"]);
        assert_eq!(number(&copied, "skipped"), skipped, "{words}: {copied:?}");
        for name in [NAME, &cut, &format!("{cut}.journal")] {
            assert!(!home.path(lands).join(name).exists(), "{words}: {name}");
        }
    };
    left_out("copy --json from to", "to", 3);
    assert!(home.path("to/file").exists());
    // A comparison leaves out the same of the original, and of the copy nothing.
    let compared = run(&home, "verify --json from to", 0, &[LEFT_OUT, "left out"]);
    assert_eq!(number(&compared, "skipped"), 3, "{compared:?}");
    run(&home, "verify --json to from", 1, &["is missing"]);
    for (name, target) in [(NAME, "single"), (&*cut, "single"), (&*format!("{cut}.journal"), "single")] {
        left_out(&format!("copy --json from/{name} {target}"), ".", 1);
        assert!(!home.path(target).exists(), "{name}");
    }
    let serving = Serving::new(&home, &[]);
    let far = |words: &str| format!("copy --json --ticket-file ticket {words}");
    left_out(&far(&format!("from {}", serving.at("pushed"))), "served/pushed", 3);
    left_out(&far(&format!("from/{NAME} {}", serving.at("one"))), "served", 1);
    fs::rename(home.path("from"), home.path("served/from")).expect("one file system");
    left_out(&far(&format!("{} pulled", serving.at("from"))), "pulled", 3);
    for (words, status, skipped) in [
        (format!("verify --json --ticket-file ticket {} pulled", serving.at("from")), 0, 3),
        (format!("verify --json --ticket-file ticket pulled {}", serving.at("from")), 1, 0),
        (format!("verify --json --ticket-file ticket served/from {}", serving.at("pushed")), 0, 3),
    ] {
        assert_eq!(number(&run(&home, &words, status, &[]), "skipped"), skipped, "{words}");
    }
    for name in [NAME, &cut, &format!("{cut}.journal")] {
        left_out(&far(&format!("{} single", serving.at(&format!("from/{name}")))), ".", 1);
    }
    assert!(!home.path("single").exists() && !home.path("served/one").exists());
    // The holder of the lock is gone: it is a file like any other.
    lock.unlock().expect("it is ours");
    let copied = run(&home, &far(&format!("{} single", serving.at(&format!("from/{NAME}")))), 0, &[]);
    assert_eq!((number(&copied, "files"), number(&copied, "skipped")), (1, 0));
    run(&home, &far(&format!("-T {} pulled", serving.at("from"))), 0, &[]);
    assert!(home.path("pulled").join(NAME).exists() && home.path("single").exists());
    run(&home, &format!("copy served/from/{NAME} again"), 0, &[]);
}

#[test]
fn between_hosts_they_are_copied_like_any_other() {
    let home = Home::new();
    ordinary(&home, "from");
    noise_file(&home, "from/large", LARGE, 1);
    noise_file(&home, &format!("from/{}", temporary("large")), 800, 2);
    make_folder(&home, "served");
    let serving = Serving::new(&home, &[]);
    run(&home, &format!("copy --ticket-file ticket from {}", serving.at("copy")), 0, &[]);
    run(&home, "verify from served/copy", 0, &[]);
    run(&home, &format!("copy --ticket-file ticket {} back", serving.at("copy")), 0, &[]);
    run(&home, "verify from back", 0, &[]);
    for words in [format!("from/{NAME} {}", serving.at("one")), format!("{} one", serving.at("one"))] {
        run(&home, &format!("copy --ticket-file ticket {words}"), 0, &[]);
    }
    has_content(&home.path("one"), &fs::read(home.path(format!("from/{NAME}"))).expect("room"), "one");
    // A single file, beside one that bears its temporary name.
    fs::remove_file(home.path("back/large")).expect("it is there");
    run(&home, &format!("copy --ticket-file ticket {} back", serving.at("copy/large")), 0, &[]);
    assert_eq!(stamps(&home.path("from")).len(), stamps(&home.path("back")).len(), "nothing was removed");
}

#[test]
fn a_single_file_spares_what_bears_its_temporary_name() {
    let home = Home::new();
    make_folder(&home, "from");
    make_folder(&home, "to");
    let of_it = temporary("x");
    noise_file(&home, "from/x", LARGE, 1);
    let other = noise_file(&home, &format!("from/{of_it}"), 900, 2);
    let journal = noise_file(&home, &format!("from/{of_it}.journal"), 600, 3);
    for name in [of_it.clone(), format!("{of_it}.journal"), "x".into(), "x".into()] {
        run(&home, &format!("copy from/{name} to"), 0, &[]);
    }
    has_content(&home.path(format!("to/{of_it}")), &other, "the other");
    has_content(&home.path(format!("to/{of_it}.journal")), &journal, "and what is named like a journal");
    run(&home, "verify from to --content-only", 0, &[]);
    // Both in one command are written at the same time.
    let both = format!("copy from/x from/{of_it} to");
    run(&home, &both, 2, &["could be the name of a temporary file"]);
    // A locked file at the target belongs to another pump.
    let lock = locked(&home.path(format!("to/{of_it}")));
    run(&home, &format!("copy from/{of_it} to"), 1, &["another pump is writing it"]);
    run(&home, "copy -T from to", 23, &["another pump is writing it"]);
    lock.unlock().expect("it is ours");
    has_content(&home.path(format!("to/{of_it}")), &other, "the other");
}

#[test]
fn what_bears_the_temporary_name_of_a_file_of_another_source_is_no_leftover() {
    let home = Home::new();
    for folder in ["one", "two", "to", "single"] {
        make_folder(&home, folder);
    }
    let of_it = temporary("a");
    let mut other = noise_file(&home, &format!("one/{of_it}"), 900, 1);
    let large = noise_file(&home, "two/a", LARGE, 2);
    // Neither a finished copy, whatever its mode, nor what the user wrote.
    for mode in [0o644, 0o600] {
        set_mode(&home.path(format!("one/{of_it}")), mode);
        set_mtime(&home.path(format!("one/{of_it}")), 1_000_000_007);
        for words in ["one/. to", "two/. to", "one/NAME single", "two/a single"] {
            run(&home, &format!("copy {}", words.replace("NAME", &of_it)), 0, &[]);
        }
        for folder in ["to", "single"] {
            has_content(&home.path(folder).join(&of_it), &other, folder);
            has_content(&home.path(folder).join("a"), &large, folder);
        }
    }
    for folder in ["to", "single"] {
        other = noise_file(&home, &format!("{folder}/{of_it}"), LARGE, 3);
        set_mode(&home.path(folder).join(&of_it), 0o644);
    }
    run(&home, "copy two/. to", 0, &[]);
    run(&home, "copy two/a single", 0, &[]);
    for folder in ["to", "single"] {
        has_content(&home.path(folder).join(&of_it), &other, folder);
    }
}

#[test]
fn a_link_removes_nothing_that_bears_its_temporary_name() {
    let home = Home::new();
    make_folder(&home, "from");
    make_folder(&home, "to");
    make_symlink(&home, "nowhere", "from/link");
    let precious = noise_file(&home, &format!("to/{}", temporary("link")), 900, 1);
    noise_file(&home, "from/one", 10, 1);
    fs::hard_link(home.path("from/one"), home.path("from/two")).expect("room");
    noise_file(&home, "to/two", 10, 2);
    let linked = noise_file(&home, &format!("to/{}", temporary("two")), 900, 2);
    run(&home, "copy -T from to", 0, &[]);
    has_content(&home.path("to").join(temporary("link")), &precious, "beside a link");
    has_content(&home.path("to").join(temporary("two")), &linked, "beside a hard link");
    assert_eq!(fs::read_link(home.path("to/link")).expect("a link"), PathBuf::from("nowhere"));
}

/// A copy of the folder `from` to `to` that was killed while its file `slow` was copied.
fn killed(home: &Home) {
    noise_file(home, "from/slow", 40 << 20, 7);
    let running = Running::start(home.command(&["copy", "-q", "--sync=none", "--bwlimit=8MB", "from", "to"]));
    let has_begun = || home.path("to").join(temporary("slow")).exists();
    eventually("the last file", || has_begun() || running.has_ended());
    running.signal(Signal::KILL);
    assert_eq!(running.end().status, 137);
    assert!(home.path("to/.pump-job").exists());
}

#[test]
fn what_a_cut_copy_left_in_the_way_of_a_file_stops_nothing() {
    let home = Home::new();
    make_folder(&home, "from");
    noise_file(&home, "from/large", LARGE, 1);
    killed(&home);
    let _ = fs::remove_file(home.path("to/large"));
    let _ = fs::remove_file(home.path("to").join(temporary("large")));
    make_symlink(&home, "nowhere", &format!("to/{}", temporary("large")));
    run(&home, "copy from to", 0, &[]);
    run(&home, "verify from to", 0, &[]);
}

#[test]
fn what_a_cut_copy_left_under_a_name_of_its_source_is_no_copy_of_that() {
    for flag in ["--update", "--ignore-existing", "--checksum"] {
        let home = Home::new();
        make_folder(&home, "from");
        let of_it = temporary("slow");
        noise_file(&home, &format!("from/{of_it}"), 40 << 20, 3);
        killed(&home);
        assert!(home.path("to").join(&of_it).exists(), "of slow, and a name of the source");
        run(&home, &format!("copy {flag} -q from/. to"), 0, &[]);
        run(&home, "verify from to", 0, &[]);
    }
}

#[test]
fn what_a_cut_copy_brought_is_not_swept_away() {
    let home = Home::new();
    ordinary(&home, "from");
    killed(&home);
    // As the cut copy would have brought them, had it come so far.
    run(&home, &format!("copy from/{NAME} from/{NAME}.journal to"), 0, &[]);
    fs::write(home.path("to/.pump-eeeeeeeeeeeeeeee"), "left").expect("room");
    set_mode(&home.path("to/.pump-eeeeeeeeeeeeeeee"), 0o600);
    run(&home, "copy from to", 0, &[]);
    assert!(!home.path("to/.pump-eeeeeeeeeeeeeeee").exists(), "no file of the source");
    same(&home, "the same command");
}

#[test]
fn what_stood_there_before_a_cut_copy_is_not_swept_away() {
    let home = Home::new();
    make_folder(&home, "from");
    make_folder(&home, "to");
    let old = noise_file(&home, &format!("to/{NAME}"), 100, 1);
    noise_file(&home, "from/slow", 40 << 20, 7);
    let words = ["copy", "-qT", "--sync=none", "--bwlimit=8MB", "from", "to"];
    let running = Running::start(home.command(&words));
    let has_begun = || home.path("to").join(temporary("slow")).exists();
    eventually("its file", || has_begun() || running.has_ended());
    running.signal(Signal::KILL);
    assert_eq!(running.end().status, 137);
    run(&home, "copy -T from to", 0, &[]);
    has_content(&home.path(format!("to/{NAME}")), &old, "of the user");
}

#[test]
fn what_came_between_a_cut_copy_and_its_end_is_not_swept_away() {
    let home = Home::new();
    make_folder(&home, "from");
    noise_file(&home, "from/small", 10, 1);
    killed(&home);
    make_folder(&home, "photos");
    let precious = noise_file(&home, &format!("photos/{NAME}"), 100, 3);
    set_mode(&home.path(format!("photos/{NAME}")), 0o600);
    make_symlink(&home, "nowhere", "photos/.pump-0123456789abcde0");
    run(&home, "copy photos to/", 0, &[]);
    run(&home, &format!("copy photos/{NAME} to"), 0, &[]);
    make_folder(&home, "to/vm");
    make_symlink(&home, "nowhere", "to/vm/.pump-0123456789abcde1");
    let mine = noise_file(&home, "to/vm/.pump-00000000000000aa", 100, 4);
    noise_file(&home, "to/vm/.pump-00000000000000bb", 100, 4);
    set_mode(&home.path("to/vm/.pump-00000000000000bb"), 0o600);
    let root = noise_file(&home, "to/.pump-00000000000000cc", 100, 5);
    let cut = cut_in(&home, "to/vm");
    assert_eq!(cut_in(&home, "to"), cut);
    run(&home, "copy from to", 0, &[]);
    has_content(&home.path(format!("to/photos/{NAME}")), &precious, "below");
    has_content(&home.path(format!("to/{NAME}")), &precious, "in the root");
    has_content(&home.path("to/vm/.pump-00000000000000aa"), &mine, "of the user");
    has_content(&home.path("to/.pump-00000000000000cc"), &root, "of the user, in the root");
    for name in ["photos/.pump-0123456789abcde0", "vm/.pump-0123456789abcde1", "vm/.pump-00000000000000bb"] {
        assert!(home.path("to").join(name).symlink_metadata().is_ok(), "{name}");
    }
    for name in [cut.clone(), format!("{cut}.journal"), format!("vm/{cut}"), format!("vm/{cut}.journal")] {
        assert!(home.path("to").join(&name).exists(), "{name} can be resumed");
    }
}

#[test]
fn a_folder_with_the_temporary_name_of_a_new_tree_is_left_alone() {
    let home = Home::new();
    make_folder(&home, "from");
    noise_file(&home, "from/file", 10, 1);
    make_folder(&home, "into");
    let of_it = temporary("from");
    make_folder(&home, &format!("into/{of_it}"));
    let precious = noise_file(&home, &format!("into/{of_it}/precious"), 100, 2);
    run(&home, "copy from into", 0, &[]);
    has_content(&home.path(format!("into/{of_it}/precious")), &precious, "of the user");
    run(&home, "verify from into/from", 0, &[]);
}

#[test]
fn targets_that_lie_in_each_other_endanger_none_of_them() {
    let home = Home::new();
    for folder in ["a", "b", "a/b", "to", "to/b"] {
        make_folder(&home, folder);
    }
    noise_file(&home, "a/b/x", LARGE, 1);
    noise_file(&home, &format!("b/{}", temporary("x")), 100, 2);
    let both = home.pump(&["copy", "a/.", "b", "to"]);
    assert!([0, 23].contains(&both.status), "the name may be taken: {both:?}");
    for words in ["copy b to", "copy -T a to", "copy b to"] {
        run(&home, words, 0, &[]);
    }
    run(&home, "verify b/x to/b/x", 2, &["b/x"]);
    has_content(&home.path("to/b/x"), &fs::read(home.path("a/b/x")).expect("room"), "of the first");
}

#[test]
fn deleting_takes_them_for_what_they_are() {
    let home = Home::new();
    ordinary(&home, "from");
    run(&home, "copy from to", 0, &[]);
    let cut = cut_in(&home, "to");
    noise_file(&home, "from/large", 1000, 5);
    for (name, seed) in [(".pump-1111111111111111", 1), (".pump-2222222222222222", 2)] {
        noise_file(&home, &format!("to/{name}"), 100, seed);
    }
    let lock = locked(&home.path("to/.pump-1111111111111111"));
    run(&home, "copy -uT --delete --max-delete=0 from to", 1, &["--max-delete"]);
    assert!(home.path("to/.pump-2222222222222222").exists());
    run(
        &home,
        "copy -uT --delete --max-delete=1 from to",
        0,
        &["pump-1111111111111111' is a temporary", &cut],
    );
    assert!(!home.path("to/.pump-2222222222222222").exists(), "an ordinary file too many");
    for name in [".pump-1111111111111111", &cut, &format!("{cut}.journal"), NAME] {
        assert!(home.path("to").join(name).exists(), "{name}");
    }
    lock.unlock().expect("it is ours");
    run(&home, "copy -uT --delete from to", 0, &[]);
    assert!(!home.path("to/.pump-1111111111111111").exists(), "nobody uses it any more");
    let pair = [cut.clone(), format!("{cut}.journal")];
    let stands = || pair.iter().filter(|name| home.path("to").join(name).exists()).count();
    assert_eq!(stands(), 2, "the source has its name");
    fs::remove_file(home.path("from/large")).expect("it is ours");
    let lock = locked(&home.path("to").join(&cut));
    run(&home, "copy -uT --delete from to", 0, &[cut.as_str()]);
    assert!(!home.path("to/large").exists() && stands() == 2, "a pump uses it");
    lock.unlock().expect("it is ours");
    run(&home, "copy -uT --delete -n from to", 0, &[]);
    assert_eq!(stands(), 2, "a dry run");
    run(&home, "copy -uT --delete --max-delete=1 from to", 0, &[]);
    assert_eq!(stands(), 0, "nobody uses it, and the source has its name no more");
    assert_eq!(cut_in(&home, "to"), cut);
    fs::remove_file(home.path("to").join(&cut)).expect("it is ours");
    run(&home, "copy -uT --delete --max-delete=1 from to", 0, &[]);
    assert_eq!(stands(), 0, "a journal alone goes, with the file that locked it meanwhile");
    run(&home, "verify from to", 0, &[]);
}

#[test]
fn the_list_of_an_unfinished_copy_is_left_out_of_copies_and_named_by_verify() {
    let home = Home::new();
    make_folder(&home, "from");
    noise_file(&home, "from/file", 10, 1);
    fs::write(home.path("from/.pump-job"), "").expect("room");
    let copied = run(&home, "copy --json from to", 0, &["unfinished copy"]);
    assert_eq!(number(&copied, "skipped"), 1);
    assert!(!home.path("to/.pump-job").exists());
    run(
        &home,
        "verify --content-only from to",
        1,
        &["from/.pump-job': is the list of an unfinished copy; run its command again"],
    );
}

#[test]
fn what_has_the_name_of_the_list_and_is_none_is_not_left_out_in_silence() {
    let home = Home::new();
    make_folder(&home, "served");
    let serving = Serving::new(&home, &[]);
    for (is_folder, root) in [(true, "one"), (false, "two")] {
        make_folder(&home, &format!("served/{root}"));
        noise_file(&home, &format!("served/{root}/other"), 10, 1);
        if is_folder {
            make_folder(&home, &format!("served/{root}/.pump-job"));
            noise_file(&home, &format!("served/{root}/.pump-job/precious"), 10, 2);
        } else {
            fs::write(home.path(format!("served/{root}/.pump-job")), "my notes").expect("room");
        }
        let words = [".pump-job': has the name of the list", "rename it, or copy it by itself"];
        run(&home, &format!("copy served/{root} here-{root}"), 23, &words);
        let far = serving.at(root);
        run(&home, &format!("copy --ticket-file ticket {far} far-{root}"), 23, &words);
        for copy in ["here", "far"] {
            assert!(home.path(format!("{copy}-{root}/other")).exists(), "{copy} {root}");
        }
    }
}
