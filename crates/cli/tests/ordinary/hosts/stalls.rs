//! A connection that a path forgot, or over which bytes were lost, while both hosts live: it is given up once nothing
//! came of what was sent for `--peer-timeout`, and the copy goes on over new ones.

use std::sync::Mutex;
use std::time::Instant;

use crate::support::middle_box::{MiddleBox, Spoiled, Spoils};
use crate::support::programs::script;
use crate::support::serving::Serving;
use crate::support::small_tree::small_tree;
use crate::support::{Home, PUMP, expect, has_content, listing, make_folder, noise_file, outcome};

const HOW: [Spoils; 6] = [
    Spoils::Swallows,
    Spoils::Forgets,
    Spoils::StopsReading,
    Spoils::Damages,
    Spoils::ClosesSender,
    Spoils::ClosesReceiver,
];
/// A handshake and a greeting are shorter.
const AT: u64 = 3500;
/// The first session makes one connection for names, one for blocks, and one that it gives up where nothing is sent
/// ahead, in any order.
const AFTER_CONTROL: std::ops::RangeInclusive<u64> = 1..=3;
/// All connections that the first session makes with a host that is called directly over ssh, the control connection
/// among them: each is called on a thread of its own, so their order is chance.
const ALL_OF_FIRST: std::ops::RangeInclusive<u64> = 0..=3;
/// Of these only the one for blocks carries as much.
const WITHIN_BLOCKS: u64 = 100_000;
/// How many copies wait beside one another.
const BESIDE: usize = 8;

/// A copy, which way it goes, and how it is spoiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Copied {
    is_push: bool,
    is_tree: bool,
    is_of_client: bool,
    how: Spoils,
}

fn copies() -> impl Iterator<Item = Copied> {
    let each = |index: usize| {
        let bit = |at: usize| index >> at & 1 == 1;
        HOW.map(|how| Copied { is_push: bit(0), is_tree: bit(1), is_of_client: bit(2), how })
    };
    (0..8).flat_map(each)
}

fn copied(home: &Home, serving: &Serving, number: usize, row: Copied) -> u64 {
    let spoiled = AFTER_CONTROL.map(|connection| Spoiled {
        connection,
        is_of_client: row.is_of_client,
        at: AT,
        how: row.how,
    });
    let middle = MiddleBox::new(&serving.address, &spoiled.collect::<Vec<_>>());
    let (from, to) = (if row.is_tree { "tree" } else { "file" }, format!("{number}"));
    let (source, target, lands) = if row.is_push {
        (from.to_owned(), middle.at(&to), format!("served/{to}"))
    } else {
        (middle.at(from), format!("pulled/{to}"), format!("pulled/{to}"))
    };
    let words = ["copy", "--peer-timeout=2s", "--retry-for=60s", "--connections=1", "--read-ahead=never"];
    let more = ["--request-size=64KiB", "--ticket-file", "ticket", &source, &target];
    let began = Instant::now();
    let run = home.pump(&[&words[..], &more[..]].concat());
    let text = format!("{row:?} after {:?}", began.elapsed());
    expect(&run, 0, &[], &text);
    if row.is_tree {
        listing::same(&home.path("tree"), &home.path(&lands), &text);
    } else {
        has_content(&home.path(&lands), &std::fs::read(home.path("file")).expect("it is there"), &text);
    }
    middle.spoiled()
}

#[test]
fn a_connection_over_which_nothing_comes_is_given_up_while_both_hosts_live() {
    let home = Home::new();
    for folder in ["served", "pulled"] {
        make_folder(&home, folder);
    }
    noise_file(&home, "file", 20_000_000, 3);
    small_tree(&home, "tree");
    for name in ["file", "tree"] {
        expect(&home.pump(&["copy", name, "served/"]), 0, &[], name);
    }
    let serving = Serving::new(&home, &["--peer-timeout=2s", "--max-sessions=64"]);
    let waiting: Mutex<Vec<(usize, Copied)>> = Mutex::new(copies().enumerate().collect());
    let (all, spoiled) = (copies().count(), Mutex::new(0));
    std::thread::scope(|scope| {
        for _ in 0..BESIDE {
            scope.spawn(|| {
                loop {
                    let Some((number, row)) = waiting.lock().expect("no panic").pop() else { return };
                    let count = copied(&home, &serving, number, row);
                    *spoiled.lock().expect("no panic") += u64::from(count > 0);
                }
            });
        }
    });
    let spoiled = spoiled.into_inner().expect("no panic");
    eprintln!("{spoiled} of {all} copies were spoiled");
    assert!(spoiled * 2 > all as u64, "{spoiled} of {all}");
}

/// The same of a connection that this host relays, with either of the two others.
#[test]
fn a_relayed_connection_over_which_nothing_comes_is_given_up() {
    std::thread::scope(|scope| {
        for how in HOW {
            // Blocks come from the one, and go to the other.
            scope.spawn(move || relayed("one", how, false));
            scope.spawn(move || relayed("two", how, true));
        }
    });
}

fn relayed(host: &str, how: Spoils, is_of_client: bool) {
    let (home, row) = (Home::new(), format!("{how:?} with {host}"));
    for folder in ["one", "two"] {
        make_folder(&home, folder);
    }
    let content = noise_file(&home, "one/file", 9_000_001, 1);
    let spoiled = ALL_OF_FIRST.map(|connection| Spoiled { connection, is_of_client, at: WITHIN_BLOCKS, how });
    let told = home.path("address");
    let server = move || std::fs::read_to_string(&told).expect("the far end told it").trim().to_owned();
    let middle = MiddleBox::before(server, &spoiled.collect::<Vec<_>>());
    // What the far end says of its address is replaced by that of the box.
    let text = format!(
        "NAME=$1; shift; export HOME=$PWD/$NAME; [ $NAME = {host} ] || exec sh -c \"$*\"\n\
         sh -c \"$*\" | {{ read -r line; echo \"${{line##* }}\" >address; echo \"${{line% *}} {}\"; exec cat; }}",
        middle.address
    );
    script(home.path("rsh"), &text);
    let words = ["copy", "--ssh=./rsh", "--remote-bin", PUMP, "--connections=1", "--request-size=64KiB"];
    let more = ["--peer-timeout=2s", "--retry-for=60s", "one:file", "two:file"];
    let mut command = home.command(&[&words[..], &more[..]].concat());
    command.env("SSH_CONNECTION", "127.0.0.1 1 127.0.0.1 22");
    let run = outcome(command, b"");
    expect(&run, 0, &[], &row);
    has_content(&home.path("two/file"), &content, &row);
    // A host that is slow to answer is called through ssh, too, which goes around the box.
    let goes_around = run.err.contains("no direct connection to");
    if goes_around {
        eprintln!("{row}: {}", run.err);
    }
    assert!(middle.spoiled() > 0 || goes_around, "{row}, nothing was spoiled: {}", run.err);
}
