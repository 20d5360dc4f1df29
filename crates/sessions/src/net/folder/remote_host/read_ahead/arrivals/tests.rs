//! What a peer that means harm can make this side keep of what it sends ahead.
//!
//! Must not know: connections.

use datapump_core::wire::attributes::Entry;
use datapump_files::disk::{FileKind, Meta};

use super::*;
use crate::net::folder::convert::to_wire;
use crate::setup::budget::Budget;

const MIB: u64 = 1 << 20;

/// The state of a session of one place, whose folder is open, with a window of so much.
fn state(budget: &Arc<Budget>, window: u64) -> (AheadState, Arc<Share>) {
    let share = budget.share();
    let charge = share.charge(window as usize, 0).expect("there is room");
    let mut state = AheadState::new(1, 1000, window, charge, &share).expect("there is room");
    let looked = Answer::meta(meta(FileKind::Folder, 0));
    come(&mut state, &share, (1, looked)).unwrap_or_else(|_| panic!("it was expected"));
    come(&mut state, &share, (2, folder())).unwrap_or_else(|_| panic!("it was expected"));
    (state, share)
}

fn meta(kind: FileKind, size_bytes: u64) -> WireMeta {
    let folder = Meta { kind: FileKind::Folder, size_bytes, ..Meta::nothing() };
    WireMeta { kind, ..to_wire(&folder) }
}

fn folder() -> Answer {
    let meta = meta(FileKind::Folder, 0);
    Answer::folder(meta, Vec::new())
}

/// Names of files of a length, or of folders, which come under these numbers.
fn names(numbers: std::ops::Range<u64>, (kind, size_bytes): (FileKind, u64)) -> Answer {
    let entry = |number: u64| Entry {
        name: number.to_string().into_bytes().into(),
        meta: Some(meta(kind, size_bytes)),
        points_to: None,
        attributes: None,
        errno: None,
        is_partial: None,
        follows: Some(number),
        is_withheld: None,
    };
    Answer::Names { entries: numbers.map(entry).collect(), cookie: 1, more: false, owners: None }
}

fn come(state: &mut AheadState, share: &Arc<Share>, (number, answer): (u64, Answer)) -> Result<(), NotTaken> {
    come_with(state, share, number, answer, None)
}

fn come_with(
    state: &mut AheadState,
    share: &Arc<Share>,
    number: u64,
    answer: Answer,
    block: Option<Vec<u8>>,
) -> Result<(), NotTaken> {
    let frames_bytes = state.credit.handle_frame(100)?;
    let bytes = crate::net::folder::weight::answer_bytes(&answer);
    let answer = ChargedValue::new(answer, bytes, share)?;
    state.handle(Arrival { number, answer, block: block.map(|bytes| ([0; 32], bytes)), frames_bytes })
}

const FOLDERS: (FileKind, u64) = (FileKind::Folder, 0);

#[test]
fn folders_in_folders_are_dropped_on_a_small_stack() {
    const LEVELS: u64 = 40_000;
    let drops = || {
        let budget = Budget::new(1 << 30);
        let (mut state, share) = state(&budget, 64 * MIB);
        for number in 2..LEVELS {
            let below = (number, names(number + 1..number + 2, FOLDERS));
            assert!(
                come(&mut state, &share, below).is_ok()
                    && come(&mut state, &share, (number + 1, folder())).is_ok()
            );
        }
        // Before a folder is left, a lane has taken it, and what its place is.
        assert!((1..=2).all(|number| matches!(state.take(number), Some(Some(_)))), "both came");
        let held = share.budget().taken_bytes();
        state.forget_names(2, true);
        assert!(state.items.is_empty() && state.lists.len() as u64 == LEVELS - 1, "each is to be answered");
        assert!(held - share.budget().taken_bytes() > LEVELS * 500, "what came is given back");
    };
    let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(drops);
    thread.expect("a thread").join().expect("no overflow");
}

#[test]
fn what_nobody_wants_is_charged_until_nothing_more_may_be_held() {
    let budget = Budget::new(64 * MIB);
    let (mut state, share) = state(&budget, 16 * MIB);
    state.forget_names(2, false);
    let mut next = 3;
    let over = (2..).find(|number| {
        let came = come(&mut state, &share, (*number, names(next..next + 2, FOLDERS)));
        next += 2;
        let came = came.and_then(|()| come(&mut state, &share, (number + 1, folder())));
        assert!(!matches!(came, Err(NotTaken::Fault(_))), "{number}");
        came.is_err()
    });
    let over = over.expect("it ends");
    assert!((10_000..500_000).contains(&over) && budget.taken_bytes() <= 64 * MIB, "{over}");
    state.give_up();
    assert!(state.is_given_up && budget.taken_bytes() == 0, "{} are kept", budget.taken_bytes());
}

#[test]
fn blocks_beyond_the_window_are_requested() {
    let budget = Budget::new(64 * MIB);
    let (mut state, share) = state(&budget, 10_000);
    assert!(come(&mut state, &share, (2, names(3..30, (FileKind::Regular, 1000)))).is_ok());
    let file = || {
        let meta = meta(FileKind::Regular, 1000);
        Answer::file(meta, Vec::new(), None)
    };
    for number in 3..20 {
        let came = come_with(&mut state, &share, number, file(), Some(vec![0; 1000]));
        assert!(came.is_ok(), "{number}");
    }
    let taken = (3..20).map(|number| state.take(number).expect("it came").is_some());
    assert_eq!(taken.filter(|is_here| *is_here).count(), 10);
    assert_eq!((state.dropped_bytes, state.blocks_bytes), (7000, 0));
}

#[test]
fn a_file_may_have_another_length_than_was_listed_and_no_more_than_is_taken() {
    let budget = Budget::new(64 * MIB);
    let (mut state, share) = state(&budget, 10_000);
    assert!(come(&mut state, &share, (2, names(3..9, (FileKind::Regular, 1000)))).is_ok());
    let file = |size, block_len| Answer::file(meta(FileKind::Regular, size), Vec::new(), block_len);
    let most = state.file_bytes_max;
    for (row, answer, expected) in [
        ("as listed", file(1000, None), Ok(Some(1000))),
        ("shorter", file(900, Some(900)), Ok(Some(900))),
        ("emptied", file(0, Some(0)), Ok(None)),
        ("an older peer", file(1200, None), Ok(None)),
    ] {
        assert_eq!(state.expected_block(3, &answer, false), expected, "{row}");
    }
    let too_long = file(u64::from(most) + 1, Some(most + 1));
    assert!(state.expected_block(3, &too_long, false).is_err());
}
