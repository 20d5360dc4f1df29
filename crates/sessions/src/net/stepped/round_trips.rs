//! What each command costs in round trips: a table of formulas, each counted in sessions of several sizes, pulled and
//! pushed; docs/protocol.md says the same.
//!
//! Must not know: how round trips are saved.

mod rows;
mod trees;

use super::*;
use rows::rows;
use trees::{FROM, TO, TreeSize};

/// Slots are filled by the kernel when they are first used, which takes a session of 1 MiB requests most of its time.
const REQUEST_BYTES: u32 = 64 << 10;

/// No small multiples of these are equal by chance.
const SIZES: [TreeSize; 2] = [
    TreeSize { depth: 1, folders: 2, files: 9, changed: 4, deleted: 3 },
    TreeSize { depth: 5, folders: 11, files: 41, changed: 23, deleted: 19 },
];

/// Round trips of a whole session, as a formula.
struct Trips {
    words: &'static str,
    count: fn(&TreeSize) -> u64,
}

/// Words of a formula are the formula.
macro_rules! trips {
    (|$size:ident| $formula:expr) => {
        crate::net::stepped::round_trips::Trips {
            words: stringify!($formula),
            count: |$size| {
                let _: &TreeSize = $size;
                $formula
            },
        }
    };
}
use trips;

/// A command, what it finds, and what that costs.
struct TripRow {
    command: &'static str,
    /// What it finds.
    when: &'static str,
    make: fn(&TwoHosts, &TreeSize),
    options: fn(&TwoHosts, &TreeSize, Options) -> Options,
    work: RowWork,
    /// Files that are copied, and names that are removed.
    done: fn(&TreeSize) -> [u64; 2],
    sizes: [TreeSize; 2],
    /// Where something is sent ahead.
    ahead: Trips,
    /// The formula through ssh alone, if that is something else.
    within_ssh: Option<Trips>,
    /// Where all is requested.
    requested: Trips,
    /// The same through a client, if that is something else.
    relayed: Option<Trips>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowWork {
    Copy,
    /// Of files that are named.
    CopyNamed,
    /// That gives this status.
    Compare(i32),
}

impl Trips {
    fn words(&self) -> String {
        self.words.replace("size.", "").split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

impl TripRow {
    fn trips(&self, path: SteppedPath) -> &Trips {
        match path {
            SteppedPath::Long => &self.ahead,
            SteppedPath::WithinSsh => self.within_ssh.as_ref().unwrap_or(&self.ahead),
            SteppedPath::Short => &self.requested,
            SteppedPath::Relayed => self.relayed.as_ref().unwrap_or(&self.requested),
        }
    }

    /// Round trips of a session.
    fn counted(&self, way: Direction, path: SteppedPath, size: &TreeSize) -> u64 {
        let compares = matches!(self.work, RowWork::Compare(_));
        let stage = TwoHosts { compares, ..TwoHosts::at(path) };
        (self.make)(&stage, size);
        let usual = stage.options().with(|it| it.tuning.request_bytes = Some(REQUEST_BYTES));
        let options = (self.options)(&stage, size, usual);
        let names = trees::names_of(size);
        let named: Vec<&str> = names.iter().map(String::as_str).collect();
        let sources = if self.work == RowWork::CopyNamed { &named[..] } else { &[FROM] };
        let copies_all = self.work == RowWork::Copy && !options.dry_run;
        let is_whole = copies_all && options.selection.rules.is_empty() && options.backup.is_none();
        let outcome = stage.copy_all(way, sources, TO, options);
        let report = &outcome.report;
        let RoundTrips { listing, data, .. } = report.round_trips.expect("there are two hosts");
        // Requests that are under way beside each other are counted with the one that takes longer.
        assert!(outcome.round_trips >= 2 + listing + data, "{}", outcome.round_trips);
        let status = if let RowWork::Compare(status) = self.work { status } else { 0 };
        let done = [report.files, report.deleted];
        assert_eq!((report.exit_status, done), (status, (self.done)(size)), "{:?}", outcome.said);
        if is_whole {
            same(&stage.path(FROM), &stage.path(TO), self.when);
        }
        outcome.round_trips
    }
}

/// Counts all rows over one path.
fn check(path: SteppedPath) {
    let mut wrong = Vec::new();
    for row in rows() {
        for (way, size) in
            row.sizes.iter().flat_map(|size| [(Direction::Pull, size), (Direction::Push, size)])
        {
            // What one session leaves to the others of its thread takes time.
            let counted = std::thread::scope(|scope| {
                let session = scope.spawn(|| row.counted(way, path, size));
                session.join().map_err(|panic| panic.downcast_ref::<String>().cloned().unwrap_or_default())
            });
            let expected = (row.trips(path).count)(size);
            if counted != Ok(expected) {
                let TripRow { command, when, .. } = &row;
                wrong.push(format!("{command}, {when}: {way:?} {size:?}: {counted:?}, not {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_sent_ahead_costs_what_the_table_says() {
    check(SteppedPath::Long);
}

#[test]
fn what_goes_through_ssh_alone_costs_what_the_table_says() {
    check(SteppedPath::WithinSsh);
}

#[test]
fn what_is_requested_costs_what_the_table_says() {
    check(SteppedPath::Short);
}

#[test]
fn what_is_relayed_costs_what_the_table_says() {
    check(SteppedPath::Relayed);
}

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/protocol.md");
const BEGIN: &str =
    "<!-- written by DATAPUMP_WRITE_ROUND_TRIPS=1 cargo test -p datapump --lib round_trips -->\n";
const END: &str = "<!-- end -->\n";

fn document_table() -> String {
    let mut table =
        "| command | what it finds | sent ahead | within ssh | requested | relayed |\n".to_owned();
    table += "|---|---|---|---|---|---|\n";
    for TripRow { command, when, ahead, within_ssh, requested, relayed, .. } in rows() {
        let or_same = |trips: &Option<Trips>| trips.as_ref().map_or("the same".into(), Trips::words);
        let (within_ssh, relayed) = (or_same(within_ssh), or_same(relayed));
        let (ahead, requested) = (ahead.words(), requested.words());
        table += &format!("| `{command}` | {when} | {ahead} | {within_ssh} | {requested} | {relayed} |\n");
    }
    table
}

#[test]
fn the_document_says_what_the_rows_say() {
    let text = fs::read_to_string(DOCUMENT).expect("it is there");
    let begin = text.find(BEGIN).expect("the table begins") + BEGIN.len();
    let end = begin + text[begin..].find(END).expect("the table ends");
    let table = document_table();
    if std::env::var_os("DATAPUMP_WRITE_ROUND_TRIPS").is_some() {
        fs::write(DOCUMENT, [&text[..begin], &table, &text[end..]].concat()).expect("room");
        return;
    }
    assert!(
        text[begin..end] == table,
        "DATAPUMP_WRITE_ROUND_TRIPS=1 cargo test -p datapump --lib round_trips"
    );
}
