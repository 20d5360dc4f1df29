//! A target that takes each file in order and once, as an object store does: it is recognised, written so, and what it
//! cannot keep is reported once.

mod parts;

use std::fs;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use parts::object_store::{ObjectStore, StoreRules};
use parts::{support, wider_parts};
use rustix::process::Signal;
use support::running::{Running, eventually};
use support::serving::Serving;
use support::{Home, Outcome, expect, has_content, make_folder, make_symlink, noise, outcome};
use wider_parts::{pump, pump_command, pump_with, report, with_content};

const MIB: usize = 1 << 20;
const EPERM: i32 = 1;
const EIO: i32 = 5;
const EINVAL: i32 = 22;
const ENOSYS: i32 = 38;
const ENOTSUP: i32 = 95;
/// The line that says it.
/// An upload of the probe has a byte behind a gap of one, where a store takes gaps: what is longer is a copy's.
const PROBE_BYTES: usize = 2;
const SAID: &str = "takes each file in order and once";

fn stores() -> Vec<StoreRules> {
    let of = |gap, refusal, sync, read_write| StoreRules {
        gap,
        refusal,
        sync,
        read_write,
        ..StoreRules::MOUNTPOINT
    };
    let stores = [
        of(EINVAL, ENOSYS, None, None),
        of(ENOTSUP, ENOTSUP, Some(ENOSYS), Some(EPERM)),
        of(EPERM, EPERM, Some(EINVAL), Some(EPERM)),
        of(EIO, EINVAL, Some(ENOTSUP), None),
    ];
    let renaming = stores.map(|rules| StoreRules { renames: true, ..rules });
    [&stores[..], &renaming].concat()
}

/// The byte behind the end is taken, and nothing is renamed: no store. With attributes and lengths, or without.
fn any_order() -> [StoreRules; 2] {
    [EPERM, 0].map(|refusal| StoreRules { renames: false, refusal, ..StoreRules::GCSFUSE })
}

/// It ended well and said once what does not hold there; all that it wrote was in order.
fn went_well(store: &ObjectStore, run: &Outcome, row: &str) {
    expect(run, 0, &[SAID], row);
    assert_eq!(run.err.matches(SAID).count(), 1, "{row}: {run:?}");
    assert_eq!(run.err.matches("warning").count(), 1, "{row}: {run:?}");
    assert!(store.gaps() <= 1, "{row}: the probe alone");
    let temporary = store.names().into_iter().filter(|name| name.starts_with(".pump-"));
    assert_eq!(temporary.collect::<Vec<_>>(), [""; 0], "{row}");
}

#[test]
fn a_file_is_written_in_order_whatever_the_store_refuses() {
    let home = Home::new();
    for rules in stores() {
        for bytes in [0, 1000, 5 * MIB + 77] {
            let source = home.path("source").display().to_string();
            let content = with_content(&source, bytes, bytes as u64);
            for way in
                [&[][..], &["--sync=none"], &["--verify"], &["--sync=each", "--lanes=4"], &["--inplace"]]
            {
                let (store, row) = (ObjectStore::new(rules), format!("{rules:?} {bytes} {way:?}"));
                for round in ["new", "over the object"] {
                    let run = pump_with(&["copy", &source, &store.at("target")], way);
                    went_well(&store, &run, &format!("{row} {round}"));
                    assert!(store.content("target").as_ref() == Some(&content), "{row} {round}");
                }
            }
        }
    }
}

#[test]
fn a_pipe_and_a_file_with_holes_are_written_in_order() {
    let home = Home::new();
    let content = noise(3 * MIB + 5, 9);
    let store = ObjectStore::new(StoreRules::MOUNTPOINT);
    let run = outcome(pump_command(&["copy", "-", &store.at("piped")]), &content);
    went_well(&store, &run, "a pipe");
    assert!(store.content("piped").as_ref() == Some(&content), "a pipe");
    let sparse = home.path("sparse");
    fs::write(&sparse, &content[..MIB]).expect("room");
    let file = fs::File::options().write(true).open(&sparse).expect("it exists");
    file.set_len(9 * MIB as u64).expect("room");
    for way in [&[][..], &["--sparse=always"], &["--no-reserve"]] {
        let run = pump_with(&["copy", &sparse.display().to_string(), &store.at("sparse")], way);
        went_well(&store, &run, &format!("holes {way:?}"));
        let object = store.content("sparse").expect("it exists");
        assert!(object.len() == 9 * MIB && object[..MIB] == content[..MIB], "{way:?}");
        assert!(object[MIB..].iter().all(|&byte| byte == 0), "{way:?}");
    }
}

fn tree(home: &Home) -> Vec<(String, Vec<u8>)> {
    make_folder(home, "tree");
    make_folder(home, "tree/below");
    make_folder(home, "tree/below/deep");
    let folders = ["", "below/", "below/deep/"];
    let files = (0..20).map(|number| {
        let name = format!("{}file{number}", folders[number % 3]);
        let bytes = if number % 10 == 7 { 3 * MIB + number } else { 1000 * number };
        let path = home.path("tree").join(&name).display().to_string();
        (name, with_content(&path, bytes, number as u64))
    });
    files.collect()
}

fn holds(store: &ObjectStore, below: &str, files: &[(String, Vec<u8>)], row: &str) {
    for (name, content) in files {
        assert!(store.content(&format!("{below}{name}")).as_ref() == Some(content), "{row}: {name}");
    }
}

#[test]
fn a_tree_is_written_and_mirrored_and_what_is_too_much_goes() {
    let home = Home::new();
    let files = tree(&home);
    let source = home.path("tree").display().to_string();
    for rules in stores() {
        let (store, row) = (ObjectStore::new(rules), format!("{rules:?}"));
        for way in [&[][..], &["--verify"], &["--lanes=3", "--sync=none"]] {
            let run = pump_with(&["copy", "-T", &source, &store.at("copy")], way);
            went_well(&store, &run, &format!("{row} {way:?}"));
            holds(&store, "copy/", &files, &row);
        }
        store.created();
        let run = pump(&["mirror", &source, &store.at("copy")]);
        went_well(&store, &run, &format!("{row} mirrored"));
        assert!(store.created().iter().all(|name| name.starts_with(".pump-")), "{row}: all exists already");
        store.put("other", b"");
        fs::create_dir(store.at("copy/gone")).expect("it takes folders");
        fs::write(store.at("copy/gone/file"), b"too much").expect("it takes files");
        fs::write(store.at("copy/below/more"), b"too much").expect("it takes files");
        let run = pump(&["mirror", &source, &store.at("copy")]);
        went_well(&store, &run, &format!("{row} mirrored again"));
        holds(&store, "copy/", &files, &row);
        let names = store.names();
        assert!(!names.contains(&"gone".into()) && !names.contains(&"more".into()), "{row}: {names:?}");
    }
}

#[test]
fn what_does_not_hold_there_is_in_the_report() {
    let home = Home::new();
    let source = home.path("source").display().to_string();
    with_content(&source, 1000, 1);
    for (renames, expected) in [
        (false, &["whole_names", "resume", "sync", "attributes"][..]),
        (true, &["resume", "sync", "attributes"]),
    ] {
        let store = ObjectStore::new(StoreRules { renames, ..StoreRules::MOUNTPOINT });
        let run = pump(&["copy", "--json", &source, &store.at("target")]);
        expect(&run, 0, &[SAID], "json");
        assert_eq!(report(&run)["not_kept"], serde_json::json!(expected), "{run:?}");
        assert_eq!(run.err.contains("no temporary name"), !renames, "{run:?}");
    }
    let run = pump(&["copy", "--json", &source, &home.path("target").display().to_string()]);
    assert!(report(&run).get("not_kept").is_none() && !run.err.contains(SAID), "an ordinary folder: {run:?}");
}

#[test]
fn an_object_is_replaced_as_the_store_allows_or_stays() {
    let home = Home::new();
    let source = home.path("source").display().to_string();
    let content = with_content(&source, 2 * MIB + 1, 2);
    for (overwrites, removes) in [(true, false), (false, true), (false, false)] {
        let rules = StoreRules { overwrites, removes, ..StoreRules::MOUNTPOINT };
        let (store, row) = (ObjectStore::new(rules), format!("{rules:?}"));
        store.put("target", b"old");
        let run = pump(&["copy", &source, &store.at("target")]);
        if overwrites || removes {
            went_well(&store, &run, &row);
            assert!(store.content("target").as_ref() == Some(&content), "{row}");
        } else {
            expect(&run, 1, &["create '", "Operation not permitted", "--allow-overwrite"], &row);
            assert_eq!(store.content("target").as_deref(), Some(&b"old"[..]), "{row}");
        }
        assert_eq!(store.names(), ["target"], "{row}: nothing else remains");
    }
}

#[test]
fn a_close_that_fails_is_reported_and_the_old_object_stays() {
    let home = Home::new();
    let files = tree(&home);
    let source = home.path("tree/below/file7").display().to_string();
    for renames in [false, true] {
        for way in [&[][..], &["--sync=none"], &["--verify"]] {
            let rules = StoreRules { renames, sync: Some(ENOSYS), ..StoreRules::MOUNTPOINT };
            let (store, row) = (ObjectStore::new(rules), format!("{renames} {way:?}"));
            store.put("old", b"old");
            store.fail_closes(Some(EIO));
            for target in ["new", "old"] {
                let run = pump_with(&["copy", &source, &store.at(target)], way);
                expect(&run, 1, &["close '", "Input/output error"], &format!("{row} {target}"));
            }
            assert_eq!(store.content("old").as_deref(), Some(&b"old"[..]), "{row}");
            assert_eq!(store.names(), ["old"], "{row}");
            let tree = home.path("tree/.").display().to_string();
            let run = pump_with(&["copy", &tree, &store.at("")], way);
            expect(&run, 23, &["close '", SAID], &row);
            store.fail_closes(None);
            store.gaps();
            let run = pump_with(&["copy", &tree, &store.at("")], way);
            went_well(&store, &run, &row);
            holds(&store, "", &files, &row);
        }
    }
}

/// A copy that is slow enough to be cut on its way.
fn cut(source: &str, store: &ObjectStore, name: &str, row: &str) -> Outcome {
    let words = ["copy", "--bwlimit=1MiB", "--request-size=64KiB", source, &store.at(name)];
    let run = Running::start(pump_command(&words));
    eventually(row, || store.uploading() > PROBE_BYTES);
    run.signal(Signal::INT);
    run.end()
}

#[test]
fn a_copy_that_is_cut_leaves_no_part_of_an_object() {
    let home = Home::new();
    let source = home.path("source").display().to_string();
    with_content(&source, 20 * MIB, 3);
    for rules in [&stores()[..], &any_order()].concat() {
        for removes in [true, false] {
            let rules = StoreRules { removes, ..rules };
            let (store, row) = (ObjectStore::new(rules), format!("{rules:?}"));
            let run = cut(&source, &store, "target", &row);
            assert_eq!(run.status, 20, "{row}: {run:?}");
            let remains = !store.names().is_empty();
            // Where an upload is not given up, and nothing can be removed.
            assert_eq!(remains, !removes && rules.takes_gaps, "{row}: {:?} {run:?}", store.names());
            assert_eq!(run.err.contains("a part of it remains under its name"), remains, "{row}: {run:?}");
        }
    }
}

#[test]
fn an_object_that_was_to_be_replaced_stays_when_the_copy_is_cut() {
    let home = Home::new();
    let source = home.path("source").display().to_string();
    with_content(&source, 20 * MIB, 3);
    for renames in [false, true] {
        let store = ObjectStore::new(StoreRules { renames, ..StoreRules::MOUNTPOINT });
        store.put("target", b"old");
        let run = cut(&source, &store, "target", "over the old one");
        assert_eq!(run.status, 20, "{run:?}");
        assert_eq!(store.content("target").as_deref(), Some(&b"old"[..]), "{renames}: {run:?}");
        assert_eq!(store.names(), ["target"], "{renames}");
    }
}

#[test]
fn a_store_that_is_served_takes_files_and_trees_of_another_host() {
    let home = Home::new();
    let files = tree(&home);
    let content = with_content(&home.path("single").display().to_string(), 9 * MIB + 3, 5);
    let with = ["copy", "-T", "--ticket-file", "ticket"];
    for renames in [false, true] {
        let store = ObjectStore::new(StoreRules { renames, ..StoreRules::MOUNTPOINT });
        let serving = Serving::start(home.command(&["serve", &store.at(""), "--ticket-file", "ticket"]));
        for (from, to) in [("single", "single"), ("tree", "copy")] {
            let run = home.pump(&[&with[..], &[from, &serving.at(to), "--json"]].concat());
            went_well(&store, &run, &format!("{renames} {from}"));
            assert!(report(&run)["not_kept"].is_array(), "{run:?}");
        }
        drop(serving);
        assert!(store.content("single").as_ref() == Some(&content), "{renames}");
        holds(&store, "copy/", &files, "pushed");
        let back = Serving::start(home.command(&["serve", ".", "--ticket-file", "ticket"]));
        for (from, to) in [("single", "pulled"), ("tree", "pulled-tree")] {
            let run = home.pump(&[&with[..], &[&back.at(from), &store.at(to)]].concat());
            went_well(&store, &run, &format!("{renames} {from} pulled"));
        }
        assert!(store.content("pulled").as_ref() == Some(&content), "{renames}");
        holds(&store, "pulled-tree/", &files, "pulled");
    }
}

#[test]
fn what_a_store_cannot_do_at_all_is_refused_before_a_byte_is_written() {
    let home = Home::new();
    let source = home.path("source").display().to_string();
    with_content(&source, 2 * MIB, 1);
    for (flag, words) in [("--backup", "leave out --backup"), ("--direct=always", SAID), ("--dsync", SAID)] {
        let store = ObjectStore::new(StoreRules::MOUNTPOINT);
        let run = pump(&["copy", flag, &source, &store.at("target")]);
        expect(&run, 2, &[words], flag);
        assert_eq!(store.names(), [""; 0], "{flag}");
    }
    let store = ObjectStore::new(StoreRules::MOUNTPOINT);
    let run = pump(&["copy", "--chmod=600", &source, &store.at("target")]);
    expect(&run, 23, &["permissions", SAID], "a mode that was asked for by value");
    assert!(store.content("target").is_some(), "its content exists");
}

#[test]
fn links_become_files_or_are_named() {
    let home = Home::new();
    let files = tree(&home);
    fs::hard_link(home.path("tree/file3"), home.path("tree/below/other")).expect("room");
    let source = home.path("tree").display().to_string();
    let store = ObjectStore::new(StoreRules::MOUNTPOINT);
    let run = pump(&["copy", "-T", &source, &store.at("copy")]);
    expect(&run, 0, &[SAID, "hard links"], "hard links");
    holds(&store, "copy/", &files, "hard links");
    assert_eq!(store.content("copy/below/other"), store.content("copy/file3"));
    let names = ["tree/file3", "tree/below/other"].map(|name| home.path(name).display().to_string());
    fs::create_dir(store.at("named")).expect("it takes folders");
    let run = pump(&["copy", &names[0], &names[1], &store.at("named")]);
    expect(&run, 0, &[SAID], "names of one file");
    assert_eq!(store.content("named/other"), store.content("copy/file3"));
    make_symlink(&home, "file3", "tree/link");
    let run = pump(&["copy", "-T", &source, &store.at("copy")]);
    expect(&run, 23, &["link'"], "a symbolic link is no attribute");
    assert!(!store.names().iter().any(|name| name.starts_with(".pump-")));
}

#[test]
fn sources_go_once_they_are_uploaded() {
    let home = Home::new();
    let files = tree(&home);
    let (single, source) = (home.path("single"), home.path("tree"));
    let content = with_content(&single.display().to_string(), 3 * MIB, 4);
    let store = ObjectStore::new(StoreRules::MOUNTPOINT);
    let words = ["copy", "--remove-source-files", "-T"];
    let run = pump_with(&words, &[&single.display().to_string(), &store.at("single")]);
    went_well(&store, &run, "a file");
    assert!(!single.exists() && store.content("single") == Some(content));
    let run = pump_with(&words, &[&source.display().to_string(), &store.at("copy")]);
    went_well(&store, &run, "a tree");
    holds(&store, "copy/", &files, "moved");
    assert!(files.iter().all(|(name, _)| !source.join(name).exists()), "{run:?}");
}

#[test]
fn a_tree_that_is_cut_names_what_goes_on_with_it() {
    let home = Home::new();
    let files = tree(&home);
    let source = home.path("tree").display().to_string();
    let store = ObjectStore::new(StoreRules::MOUNTPOINT);
    let words = ["copy", "--bwlimit=1MiB", "--request-size=64KiB", &source, &store.at("copy")];
    let run = Running::start(pump_command(&words));
    eventually("bytes are uploaded", || store.uploading() > MIB);
    run.signal(Signal::INT);
    let run = run.end();
    assert_eq!(run.status, 20, "{run:?}");
    assert!(run.err.contains("the same command copies into it, with -T it copies them again"), "{run:?}");
    for (name, content) in &files {
        let object = store.content(&format!("copy/{name}"));
        assert!(object.is_none_or(|object| object == *content), "{name} is whole or does not exist");
    }
    let run = pump(&["copy", "-T", "--update=differs", &source, &store.at("copy")]);
    store.gaps();
    expect(&run, 0, &[SAID], "the same, named so");
    holds(&store, "copy/", &files, "after the cut");
    let run = cut(&(source + "/"), &store, "content", "its content");
    expect(&run, 20, &["interrupted"], "its content");
    assert!(!run.err.contains("-T"), "it does not nest: {run:?}");
}

#[test]
fn a_store_that_takes_bytes_in_any_order_and_renames_is_an_ordinary_target() {
    let home = Home::new();
    let files = tree(&home);
    let source = home.path("tree").display().to_string();
    // A younger source is compared with its copy, which this store gives back once it is closed.
    std::thread::sleep(std::time::Duration::from_millis(100));
    let store = ObjectStore::new(StoreRules::GCSFUSE);
    let run = pump(&["copy", "-T", "--no-preserve=all", &source, &store.at("copy")]);
    assert!(run.status == 0 && !run.err.contains(SAID), "{run:?}");
    holds(&store, "copy/", &files, "any order");
    assert!(!store.names().iter().any(|name| name.starts_with(".pump-")), "{:?}", store.names());
}

#[test]
fn a_store_is_read_in_order_as_a_source() {
    let home = Home::new();
    let store = ObjectStore::new(StoreRules::MOUNTPOINT);
    let content = noise(5 * MIB + 1, 8);
    store.put("object", &content);
    let target = home.path("target");
    expect(&pump(&["copy", &store.at("object"), &target.display().to_string()]), 0, &[], "read");
    has_content(Path::new(&target), &content, "read");
}

/// Another process puts a file of its own under the temporary name: it neither gets the final name nor is removed.
#[test]
fn a_file_of_another_process_does_not_get_the_final_name() {
    let home = Home::new();
    let source = home.path("source").display().to_string();
    with_content(&source, 2 * MIB, 3);
    let store = ObjectStore::new(StoreRules { renames: true, ..StoreRules::MOUNTPOINT });
    store.put("target", b"old");
    let words = ["copy", "--bwlimit=1MiB", "--request-size=64KiB", &source, &store.at("target")];
    let run = Running::start(pump_command(&words));
    eventually("bytes are uploaded", || store.uploading() > PROBE_BYTES);
    let temporary = store.names().into_iter().find(|name| name.starts_with(".pump-")).expect("it renames");
    store.put(&temporary, b"of another");
    let run = run.end();
    expect(&run, 1, &["another program removed or replaced its temporary file"], "replaced");
    assert_eq!(store.content("target").as_deref(), Some(&b"old"[..]), "{run:?}");
    assert_eq!(store.content(&temporary).as_deref(), Some(&b"of another"[..]), "{run:?}");
}

#[test]
fn a_store_below_the_folder_of_a_target_is_named_before_a_byte_is_moved_there() {
    let home = Home::new();
    for name in ["tree", "tree/mnt", "tree/mnt/below"] {
        make_folder(&home, name);
    }
    let own = with_content(&home.path("tree/own").display().to_string(), 1000, 1);
    let of_store = with_content(&home.path("tree/mnt/below/file").display().to_string(), 3 * MIB, 2);
    let source = home.path("tree").display().to_string();
    for rules in stores() {
        let (store, row) = (ObjectStore::new(rules), format!("{rules:?}"));
        let above = Path::new(&store.at("")).parent().expect("a folder").to_path_buf();
        let above = above.display().to_string();
        let run = pump(&["copy", "-T", &source, &above]);
        expect(&run, 23, &["mnt': takes each file in order and once", "copy to it by itself"], &row);
        assert_eq!(store.names(), [""; 0], "{row}");
        has_content(&Path::new(&above).join("own"), &own, &row);
        expect(&pump(&["copy", "-T", "--exclude=/mnt", &source, &above]), 0, &[], &row);
        expect(&pump(&["copy", "-T", &(source.clone() + "/mnt"), &store.at("")]), 0, &[SAID], &row);
        assert!(store.content("below/file").as_ref() == Some(&of_store), "{row}");
    }
}

/// A file with a time long before now.
fn old_content(path: &str, bytes: usize, seed: u64) -> Vec<u8> {
    let content = with_content(path, bytes, seed);
    let file = fs::File::options().write(true).open(path).expect("just made");
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)).expect("its own file");
    content
}

#[test]
fn what_a_file_holds_is_not_lost_where_bytes_are_taken_anywhere_and_nothing_is_renamed() {
    let home = Home::new();
    let files = tree(&home);
    let source = home.path("source").display().to_string();
    let content = with_content(&source, 2 * MIB + 1, 2);
    for rules in any_order() {
        let (store, row) = (ObjectStore::new(rules), format!("{rules:?}"));
        for way in [&[][..], &["--verify"]] {
            let run = pump_with(&["copy", &source, &store.at(&format!("new{}", way.len()))], way);
            expect(&run, 0, &[SAID], &row);
        }
        assert!(store.content("new1").as_ref() == Some(&content), "{row}");
        store.put("target", b"old");
        let run = pump(&["copy", &source, &store.at("target")]);
        expect(&run, 1, &["create '", "renames nothing", "--inplace"], &row);
        assert_eq!(store.content("target").as_deref(), Some(&b"old"[..]), "{row}");
        store.put("empty", b"");
        expect(&pump(&["copy", &source, &store.at("empty")]), 0, &[SAID], &row);
        assert!(store.content("empty").as_ref() == Some(&content), "{row}: nothing could be lost");
        fs::create_dir(store.at("copy")).expect("it takes folders");
        fs::write(store.at("copy/file3"), b"old").expect("it takes files");
        let run = pump(&["copy", "-T", &home.path("tree").display().to_string(), &store.at("copy")]);
        expect(&run, 23, &["file3'", "renames nothing", "--inplace"], &row);
        assert_eq!(store.content("copy/file3").as_deref(), Some(&b"old"[..]), "{row}");
        let others: Vec<_> = files.iter().filter(|(name, _)| name != "file3").cloned().collect();
        holds(&store, "copy/", &others, &row);
    }
    let store = ObjectStore::new(any_order()[1]);
    store.put("target", &noise(3 * MIB, 1));
    expect(&pump(&["copy", "--inplace", &source, &store.at("target")]), 0, &[SAID], "--inplace");
    assert!(store.content("target") == Some(content), "--inplace");
}

#[test]
fn nothing_is_said_of_a_target_that_was_kept_where_it_had_its_name_from_the_start() {
    let home = Home::new();
    let source = home.path("source").display().to_string();
    for rules in [StoreRules::MOUNTPOINT, any_order()[1]] {
        with_content(&source, 20 * MIB, 3);
        let store = ObjectStore::new(rules);
        let words = ["copy", "--bwlimit=20MiB", "--request-size=64KiB", &source, &store.at("target")];
        let run = Running::start(pump_command(&words));
        eventually("bytes are uploaded", || store.uploading() > PROBE_BYTES);
        fs::write(&source, noise(20 * MIB, 4)).expect("room");
        let run = run.end();
        expect(&run, 24, &["while it was copied", "do not use what was copied"], "rewritten");
        assert!(!run.err.contains("not changed"), "{run:?}");
        assert_eq!(store.names(), [""; 0], "{run:?}");
    }
}

#[test]
fn an_object_is_closed_to_others_before_the_bytes_of_a_private_file() {
    let home = Home::new();
    let source = home.path("source").display().to_string();
    let content = with_content(&source, 20 * MIB, 3);
    fs::set_permissions(&source, Permissions::from_mode(0o600)).expect("its own file");
    let keeping = StoreRules { refusal: 0, keeps_modes: true, ..StoreRules::MOUNTPOINT };
    let store = ObjectStore::new(keeping);
    store.put("target", b"old");
    let words = ["copy", "--bwlimit=1MiB", "--request-size=64KiB", &source, &store.at("target")];
    let run = Running::start(pump_command(&words));
    eventually("bytes are uploaded", || store.uploading() > PROBE_BYTES);
    let mode = store.mode("target");
    run.signal(Signal::INT);
    let run = run.end();
    assert_eq!((run.status, mode), (20, 0o600), "{run:?}");
    assert_eq!(store.content("target").as_deref(), Some(&b"old"[..]), "{run:?}");
    assert_eq!(store.mode("target"), 0o644, "the old object is as it was: {run:?}");
    expect(&pump(&["copy", &source, &store.at("target")]), 0, &[SAID], "all of it");
    assert_eq!((store.content("target"), store.mode("target")), (Some(content.clone()), 0o600));
    // Modes are given to new files alone.
    let store = ObjectStore::new(StoreRules { refusal: EPERM, ..keeping });
    store.put("target", b"old");
    let run = pump(&["copy", &source, &store.at("target")]);
    expect(&run, 1, &["its mode cannot be set", "remove it"], "no mode can be set");
    assert_eq!(store.content("target").as_deref(), Some(&b"old"[..]), "{run:?}");
    // A new file would be as open as the old one.
    let store = ObjectStore::new(StoreRules::MOUNTPOINT);
    store.put("target", b"old");
    let run = pump(&["copy", &source, &store.at("target")]);
    expect(&run, 0, &[SAID, "others may be able to read what is private"], "no modes");
    assert!(store.content("target") == Some(content));
}

#[test]
fn a_part_that_a_killed_run_left_is_copied_again_by_update() {
    let home = Home::new();
    make_folder(&home, "folder");
    let path = |name: &str| home.path("folder").join(name).display().to_string();
    let content = old_content(&path("big"), 20 * MIB, 3);
    let edited = old_content(&path("edited"), 10, 4);
    let source = home.path("folder").display().to_string() + "/";
    for way in ["--update", "--update=differs"] {
        let store = ObjectStore::new(StoreRules::MOUNTPOINT);
        let words = ["copy", "--bwlimit=1MiB", "--request-size=64KiB", &path("big"), &store.at("big")];
        let run = Running::start(pump_command(&words));
        eventually("bytes are uploaded", || store.uploading() > PROBE_BYTES);
        run.signal(Signal::KILL);
        run.end();
        eventually("the part is stored", || store.content("big").is_some());
        assert!(store.content("big").is_some_and(|part| part.len() < content.len()), "{way}");
        store.put("edited", b"edited in the store later");
        let run = pump(&["copy", way, &source, &store.at("")]);
        expect(&run, 0, &[SAID], way);
        assert!(store.content("big").as_ref() == Some(&content), "{way}: {run:?}");
        let is_kept = store.content("edited").as_ref() != Some(&edited);
        assert_eq!(is_kept, way == "--update", "newer, and no part: {run:?}");
    }
}

#[test]
fn what_a_cut_copy_cannot_remove_is_emptied_and_copied_again() {
    let home = Home::new();
    make_folder(&home, "folder");
    let source = home.path("folder/big").display().to_string();
    let content = old_content(&source, 20 * MIB, 3);
    let folder = home.path("folder").display().to_string() + "/";
    let store = ObjectStore::new(StoreRules { removes: false, ..any_order()[1] });
    let run = cut(&source, &store, "big", "not removed");
    expect(&run, 20, &["a part of it remains under its name", "--update=differs"], "cut");
    assert_eq!(store.content("big").as_deref(), Some(&[][..]), "{run:?}");
    expect(&pump(&["copy", "--update", &folder, &store.at("")]), 0, &[SAID], "again");
    assert!(store.content("big") == Some(content));
}
