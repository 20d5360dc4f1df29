//! What a server has to share: connections, memory, room on its disk, and its time among several clients.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::support::nested::{nest, remove};
use crate::support::running::{BESIDES_BYTES, memory_max_bytes};
use crate::support::running::{Running, eventually};
use crate::support::serving::Serving;
use crate::support::{Home, expect, has_content, leftovers, make_folder, noise, noise_file};
use crate::wider_parts::{Kind, Mount, program};
use rustix::fs::XattrFlags;
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};

const MEBIBYTE: u64 = 1 << 20;

fn home() -> Home {
    let home = Home::new();
    make_folder(&home, "served");
    home
}

fn copy<'words>(source: &'words str, target: &'words str) -> [&'words str; 5] {
    ["copy", "--ticket-file", "ticket", source, target]
}

fn keeps_to(serving: &Serving, budget_bytes: u64, row: &str) {
    let most = memory_max_bytes(serving.id()).expect("it runs");
    eprintln!("{row}: the server had {} MiB at most, its budget is {} MiB", most >> 20, budget_bytes >> 20);
    assert!(most <= budget_bytes + BESIDES_BYTES, "{row}: {most} bytes");
}

/// Lets this process, and those it starts, have so many files open.
fn allow_open_files(count: u64) {
    let now = getrlimit(Resource::Nofile);
    if now.current.is_some_and(|current| current < count) {
        let wanted = Rlimit { current: Some(count), maximum: now.maximum };
        setrlimit(Resource::Nofile, wanted).expect("as many open files as the test needs");
    }
}

#[test]
fn a_deep_tree_is_given_within_the_budget() {
    let home = home();
    make_folder(&home, "served/deep");
    nest(&home.path("served/deep"), 3000, 240);
    let serving = Serving::new(&home, &["--memory=64MiB"]);
    let pulled = home.pump(&copy(&serving.at("deep"), "pulled"));
    expect(&pulled, 0, &[], "pulled");
    keeps_to(&serving, 64 * MEBIBYTE, "nested folders");
    let pushed = home.pump(&copy("pulled", &serving.at("pushed")));
    expect(&pushed, 0, &[], "pushed");
    keeps_to(&serving, 64 * MEBIBYTE, "nested folders, written");
    drop(serving);
    ["served", "pulled"].iter().for_each(|name| remove(&home.path(name)));
}

#[test]
fn a_folder_of_many_names_is_pushed_within_the_budget() {
    const NAMES: usize = 6_000;
    let home = home();
    make_folder(&home, "many");
    for number in 0..NAMES {
        let path = home.path(format!("many/a-name-of-some-length-{number}"));
        std::fs::write(&path, b"content").expect("room");
        let value = [b'v'; 200];
        rustix::fs::setxattr(&path, "user.note", &value, XattrFlags::empty()).expect("attributes");
    }
    let serving = Serving::new(&home, &["--memory=16MiB"]);
    for row in ["names", "names and attributes that stand there"] {
        let target = serving.at("pushed");
        let words = ["copy", "--ticket-file=ticket", "--sync=none", "--update", "-T", "many", &target];
        expect(&home.pump(&words), 0, &[], row);
        keeps_to(&serving, 16 * MEBIBYTE, row);
    }
    assert_eq!(std::fs::read_dir(home.path("served/pushed")).expect("it is there").count(), NAMES);
}

/// The names come faster than the file: its other names wait for its first one, more than a session may hold of them.
#[test]
fn names_of_a_file_that_is_copied_slowly_wait_within_the_budget() {
    const NAMES: usize = 10_000;
    let home = home();
    make_folder(&home, "many");
    let content = noise_file(&home, "many/first", 8 << 20, 1);
    for number in 1..NAMES {
        let folder = home.path(format!("many/folder-{}", number % 10));
        let _ = std::fs::create_dir(&folder);
        let name = folder.join(format!("a-name-of-some-length-{number}"));
        std::fs::hard_link(home.path("many/first"), name).expect("one file system");
    }
    program(&[
        "cp",
        "-a",
        &home.path("many").display().to_string(),
        &home.path("served").display().to_string(),
    ]);
    let serving = Serving::new(&home, &["--memory=16MiB"]);
    // The side that writes holds the names. What a client has no slots for is for those.
    for (row, source, target, copied, memory) in [
        ("pushed", "many".to_string(), serving.at("pushed"), "served/pushed", None),
        ("pulled", serving.at("many"), "pulled".to_string(), "pulled", Some("--memory=4MiB")),
    ] {
        let words = ["--bwlimit=2MiB", "-T"].into_iter().chain(memory);
        let words: Vec<&str> = copy(&source, &target).into_iter().chain(words).collect();
        expect(&home.pump(&words), 0, &[], row);
        let first = home.path(copied).join("first");
        has_content(&first, &content, row);
        assert_eq!(std::fs::metadata(&first).expect("it is there").nlink(), NAMES as u64, "{row}");
        keeps_to(&serving, 16 * MEBIBYTE, row);
    }
}

#[test]
fn a_thousand_connections_that_say_nothing_keep_nobody_out() {
    allow_open_files(3000);
    let home = home();
    let content = noise_file(&home, "large", 64 << 20, 1);
    let serving = Serving::new(&home, &["--memory=32MiB"]);
    let call = || TcpStream::connect(&serving.address).ok();

    // They come while a copy goes on …
    let mut running = Running::start(home.command(&copy("large", &serving.at("during"))));
    running.await_temporary(&home.path("served"));
    let mut silent: Vec<TcpStream> = (0..1000).filter_map(|_| call()).collect();
    eprintln!("{} connections were taken", silent.len());
    expect(&running.end(), 0, &[], "a copy while they come");
    has_content(&home.path("served/during"), &content, "during");

    // … and are there when one begins; who was hung up on calls again.
    silent.extend((0..1000).filter_map(|_| call()));
    expect(&home.pump(&copy("large", &serving.at("after"))), 0, &[], "a copy when they are there");
    has_content(&home.path("served/after"), &content, "after");
    keeps_to(&serving, 32 * MEBIBYTE, "silent connections");
}

/// A caller from this address that says so much.
fn caller(address: &str, server: &str, says: &[u8]) -> Option<TcpStream> {
    let to: SocketAddr = server.parse().expect("an address");
    let from: SocketAddr = format!("{address}:0").parse().expect("an address");
    let caller = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    bind(&caller, &from).expect("an address of this host");
    connect(&caller, &to).ok()?;
    let mut caller = TcpStream::from(caller);
    let _ = caller.write_all(says);
    Some(caller)
}

/// Those who call are others (127.0.0.2) or the same host as the client; each try has 2 s for what the server says.
#[test]
fn a_thousand_connections_that_say_little_keep_nobody_out() {
    allow_open_files(3000);
    let home = home();
    let content = noise_file(&home, "small", 100_000, 1);
    for (row, address, says) in [
        ("nothing, from elsewhere", "127.0.0.2", &b""[..]),
        ("a byte, from elsewhere", "127.0.0.2", b"\x16"),
        ("a byte, from here", "127.0.0.1", b"\x16"),
        ("half a hello, from here", "127.0.0.1", b"\x16\x03\x01\x01\x00\x01\x00"),
    ] {
        let serving = Serving::new(&home, &[]);
        let crowd: Vec<TcpStream> =
            (0..1000).filter_map(|_| caller(address, &serving.address, says)).collect();
        assert_eq!(crowd.len(), 1000, "{row}");
        let mut let_in = 0;
        for index in 0..20 {
            let target = serving.at(&format!("copy{index}"));
            let limits = ["--peer-timeout=2s", "--retry-for=0s"];
            let run = home.pump(&[&copy("small", &target)[..], &limits].concat());
            if run.status == 0 {
                has_content(&home.path(format!("served/copy{index}")), &content, row);
                let_in += 1;
            }
        }
        assert_eq!(let_in, 20, "{row}");
    }
}

#[test]
fn a_full_disk_at_the_receiver_is_said_and_costs_nobody_else() {
    if !crate::support::is_root() {
        eprintln!("not tested: full disks: mounting needs root");
        return;
    }
    let (home, mount) = (Home::new(), Mount::of(Kind::Ext4, 48));
    noise_file(&home, "large", 64 << 20, 1);
    let small = noise_file(&home, "small", 100_000, 2);
    make_folder(&home, "tree");
    for file in 0..100_u64 {
        std::fs::write(home.path("tree").join(file.to_string()), noise(1 << 20, file)).expect("room");
    }
    let words = ["serve", &mount.point(), "--ticket-file", "ticket"];
    let serving = Serving::start(home.command(&words));

    let run = home.pump(&copy("large", &serving.at("large")));
    expect(&run, 1, &["No space left", "are needed"], "a file that is too large");
    assert!(!Path::new(&mount.at("large")).exists());
    assert_eq!(crate::wider_parts::leftovers(&mount.point()), [""; 0], "it leaves nothing behind");

    let run = home.pump(&copy("tree", &serving.at("tree")));
    expect(&run, 23, &["No space left"], "a tree that is too large");
    for entry in std::fs::read_dir(mount.at("tree")).expect("it was begun").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Ok(number) = name.parse() {
            has_content(&entry.path(), &noise(1 << 20, number), "a file of the tree");
        }
    }
    program(&["rm", "-rf", &mount.at("tree")]);
    expect(&home.pump(&copy("small", &serving.at("small"))), 0, &[], "one that fits");
    has_content(Path::new(&mount.at("small")), &small, "one that fits");
    assert_eq!(leftovers(&home), [""; 0]);
}

/// Files of one tree, and the size of each.
const FILES: u64 = 3000;
const FILE_BYTES: usize = 48 << 10;

fn tree_of_equals(home: &Home) {
    make_folder(home, "tree");
    (0..FILES).for_each(|file| {
        std::fs::write(home.path("tree").join(file.to_string()), noise(FILE_BYTES, file)).expect("room");
    });
}

/// Bytes that stand under final names.
fn arrived_bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let ours = |name: &std::ffi::OsStr| name.as_encoded_bytes().starts_with(b".pump-");
    let sizes = entries.filter(|it| !ours(&it.file_name())).filter_map(|it| it.metadata().ok());
    sizes.map(|meta| meta.len()).sum()
}

/// Jain's index: 1 when all have the same, 1/n when one has all (Jain, Chiu and Hawe 1984).
fn jain(shares: &[u64]) -> f64 {
    let sum: f64 = shares.iter().map(|&share| share as f64).sum();
    let squares: f64 = shares.iter().map(|&share| (share as f64).powi(2)).sum();
    if squares == 0.0 { 0.0 } else { sum * sum / (shares.len() as f64 * squares) }
}

const CLIENTS: usize = 4;

/// What each of several equal clients has when the first of them is done.
fn shares(home: &Home, serving: &Serving, push: bool, more: &[&str]) -> Vec<u64> {
    let lands = |client: usize| format!("{}{client}", if push { "served/to-" } else { "back-" });
    let start = |client: usize| {
        let far = serving.at(&format!("to-{client}"));
        let (source, target) = if push { ("tree".into(), far) } else { (serving.at("tree"), lands(client)) };
        Running::start(home.command(&[&copy(&source, &target)[..], more].concat()))
    };
    let running: Vec<Running> = (0..CLIENTS).map(start).collect();
    eventually("the first client is done", || running.iter().any(Running::has_ended));
    let shares = (0..CLIENTS).map(|client| arrived_bytes(&home.path(lands(client)))).collect();
    for (client, run) in running.into_iter().enumerate() {
        expect(&run.end(), 0, &[], &format!("client {client}"));
        assert_eq!(arrived_bytes(&home.path(lands(client))), FILES * FILE_BYTES as u64, "client {client}");
        std::fs::remove_dir_all(home.path(lands(client))).expect("it arrived");
    }
    shares
}

#[test]
fn equal_clients_get_equal_shares() {
    let home = home();
    tree_of_equals(&home);
    program(&[
        "cp",
        "-r",
        &home.path("tree").display().to_string(),
        &home.path("served").display().to_string(),
    ]);
    // Room for all at once: on a busy host a path is taken for a long one, over which a session has 19 MiB for slots,
    // the first of them far more, and 16 MiB for what it gives ahead. An eighth is never for slots.
    let serving = Serving::new(&home, &["--memory=256MiB"]);
    for push in [true, false] {
        // One wait for the disk at the end would come for all at once. Throttled, a copy takes seconds: one that began
        // a moment later is not far behind.
        let shares = shares(&home, &serving, push, &["--sync=none", "--bwlimit=40MB"]);
        let index = jain(&shares);
        let way = if push { "push" } else { "pull" };
        eprintln!("{way}: Jain's index of {CLIENTS} equal clients is {index:.4}: {shares:?}");
        // The wanted index is 0.95, and 0.79 was seen where other tests have the CPUs. The bound only tells a server
        // that serves one after the other (0.25), or two at a time (0.5).
        assert!(index >= 0.6, "{way}: {shares:?}");
    }
    keeps_to(&serving, 256 * MEBIBYTE, "four clients");
}

#[test]
fn a_client_that_is_stuck_harms_no_other() {
    let home = home();
    tree_of_equals(&home);
    let content = noise_file(&home, "large", 96 << 20, 1);
    let serving = Serving::new(&home, &["--memory=64MiB"]);
    let mut stuck = Vec::new();
    for number in 0..3 {
        let target = serving.at(&format!("stuck-{number}"));
        // Slow enough to be in its middle when it is stopped, however busy the host is.
        let slow = [&copy("large", &target)[..], &["--progress=always", "--bwlimit=32MB"]].concat();
        let mut running = Running::start(home.command(&slow));
        running.await_bytes();
        assert!(!running.has_ended(), "over before it was stopped: {:?}", running.end());
        running.signal(Signal::STOP);
        stuck.push(running);
    }
    let shares = shares(&home, &serving, true, &[]);
    eprintln!("beside three that are stuck: {shares:?}");
    expect(&home.pump(&copy("large", &serving.at("large"))), 0, &[], "a large one");
    has_content(&home.path("served/large"), &content, "a large one");
    for (number, running) in stuck.into_iter().enumerate() {
        running.signal(Signal::CONT);
        expect(&running.end(), 0, &[], &format!("stuck {number}, and back"));
        has_content(&home.path(format!("served/stuck-{number}")), &content, "stuck, and back");
    }
    keeps_to(&serving, 64 * MEBIBYTE, "stuck clients");
}

/// A client that comes again for as long as the server has no memory left for it. Gives how often it came in vain.
fn comes_until_it_is_served(home: &Home, words: &[&str]) -> u32 {
    let mut refused = 0;
    eventually("there is memory for it", || {
        let run = home.pump(words);
        if run.status == 0 {
            return true;
        }
        refused += 1;
        expect(&run, 5, &["memory"], "a client for whom there is no memory");
        false
    });
    refused
}

#[test]
fn many_clients_share_one_budget_of_memory() {
    let home = home();
    let content = noise_file(&home, "large", 48 << 20, 1);
    noise_file(&home, "served/large", 48 << 20, 1);
    for budget in [16_u64, 256] {
        let serving = Serving::new(&home, &[&format!("--memory={budget}MiB")]);
        let client = |number: usize| {
            let push = number.is_multiple_of(2);
            let (far, near) = (serving.at(&format!("to-{number}")), format!("back-{number}"));
            let at = if push { format!("served/to-{number}") } else { near.clone() };
            let (source, target) = if push { ("large".into(), far) } else { (serving.at("large"), near) };
            let refused = comes_until_it_is_served(&home, &copy(&source, &target));
            has_content(&home.path(&at), &content, &at);
            std::fs::remove_file(home.path(&at)).expect("it arrived");
            refused
        };
        let refused: u32 = std::thread::scope(|scope| {
            let clients: Vec<_> = (0..10).map(|number| scope.spawn(move || client(number))).collect();
            clients.into_iter().map(|client| client.join().expect("no panic")).sum()
        });
        eprintln!("ten clients were refused {refused} times for want of memory");
        keeps_to(&serving, budget * MEBIBYTE, "ten clients");
    }
}
