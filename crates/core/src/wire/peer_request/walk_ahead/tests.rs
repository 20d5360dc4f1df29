//! What a walk ahead asks for, and in which order.
//!
//! Must not know: connections.

use super::super::super::attributes::TimeNs;
use super::super::super::bounds::OwnerId;
use super::*;

const SMALL: u32 = 1000;

fn small() -> AheadScope {
    AheadScope { file_bytes_max: SMALL, ..AheadScope::default() }
}

fn meta(kind: FileKind, size: u64, links: u64) -> WireMeta {
    let (uid, gid, time) = (OwnerId(0), OwnerId(0), TimeNs(0));
    let size_bytes = FileSize::of(size);
    let (allocated_bytes, mode, device, inode) = (size_bytes, 0o644, 1, 1);
    let (atime, mtime, ctime, special_device, generation) = (time, time, time, 0, None);
    WireMeta {
        kind,
        mode,
        uid,
        gid,
        size_bytes,
        allocated_bytes,
        device,
        inode,
        links,
        atime,
        mtime,
        ctime,
        special_device,
        generation,
        handle: None,
    }
}

fn folder() -> Answer {
    let meta = meta(FileKind::Folder, 0, 2);
    Answer::folder(meta, Vec::new())
}

fn looked(kind: FileKind) -> Answer {
    Answer::meta(meta(kind, 500, 1))
}

/// `d…` are folders, `2…` a file with two names, `L…` a large one, `e…` an empty one, others are small files.
fn listed(names: &[&str]) -> Vec<Entry> {
    let entry = |name: &&str| {
        let meta = match name.as_bytes()[0] {
            b'd' => meta(FileKind::Folder, 0, 2),
            b'2' => meta(FileKind::Regular, 500, 2),
            b'L' => meta(FileKind::Regular, 5000, 1),
            b'e' => meta(FileKind::Regular, 0, 1),
            _ => meta(FileKind::Regular, 500, 1),
        };
        let name = name.as_bytes().to_vec().into();
        let (points_to, attributes, errno, is_partial, follows) = (None, None, None, None, None);
        Entry { name, meta: Some(meta), points_to, attributes, errno, is_partial, follows, is_withheld: None }
    };
    names.iter().map(entry).collect()
}

fn words(request: &PeerRequest) -> String {
    let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
    match request {
        PeerRequest::Look(place) => format!("look {place}"),
        PeerRequest::Root { place, .. } => format!("root {place}"),
        PeerRequest::OpenPlace { place, .. } => format!("open {place}"),
        PeerRequest::Read { len, .. } => format!("read {len}"),
        PeerRequest::Enter { name, .. } => format!("enter {}", text(name)),
        PeerRequest::Fetch { name, .. } => text(name),
        PeerRequest::List { folder, cookie, .. } => format!("list {} {cookie}", folder & !AHEAD),
        other => format!("{other:?}"),
    }
}

/// Everything that a walk answers, in its order. `names` gives the names of a folder at a place, by the name of the
/// folder.
fn walked(walk: &mut WalkAhead, names: impl Fn(&str, u64) -> Vec<Entry>) -> Vec<String> {
    let (mut said, mut folders) = (Vec::new(), BTreeMap::new());
    while let Some((number, request)) = walk.poll() {
        said.push(words(&request));
        let mut answer = match &request {
            PeerRequest::Look(0) => looked(FileKind::Folder),
            PeerRequest::Look(_) => looked(FileKind::Regular),
            PeerRequest::Root { .. } => folder(),
            PeerRequest::Enter { name, .. } => {
                folders.insert(number, String::from_utf8_lossy(name).into_owned());
                folder()
            }
            PeerRequest::List { cookie, .. } => {
                let name = folders.get(&number).map_or("", String::as_str);
                let entries = names(name, *cookie);
                Answer::Names { entries, cookie: cookie + 1, more: false, owners: None }
            }
            PeerRequest::OpenPlace { .. } => {
                let ranges = Some(Vec::new());
                let meta = meta(FileKind::Regular, 500, 1);
                Answer::File {
                    meta,
                    attributes: Vec::new(),
                    ranges,
                    owners: None,
                    follows: None,
                    is_young: None,
                    block_len: None,
                }
            }
            _ => Answer::Done,
        };
        assert!(!walk.handle_answer(number, &mut answer));
    }
    assert!(walk.is_over() && !walk.has_next());
    said
}

#[test]
fn a_tree_is_walked_as_a_lane_walks_it() {
    let mut walk = WalkAhead::new(2, small());
    let names = |folder: &str, cookie: u64| match (folder, cookie) {
        ("", 0) => listed(&["a", "d1", "2links", "d2", "Large", "b"]),
        ("", 1) => listed(&["c"]),
        ("d2", 0) => listed(&["in d2"]),
        _ => Vec::new(),
    };
    let expected = [
        "look 0", "look 1", "root 0", "list 2 0", "a", "enter d1", "enter d2", "b", "list 7 0", "in d2",
        "list 7 1", "list 6 0", "list 2 1", "c", "list 2 2", "open 1", "read 500",
    ];
    assert_eq!(walked(&mut walk, names), expected);
}

#[test]
fn folders_of_a_batch_come_before_the_next_batch() {
    let wide: Vec<String> = (0..BATCH_NAMES).map(|number| format!("d{number}")).collect();
    let mut wide: Vec<&str> = wide.iter().map(String::as_str).collect();
    wide.push("behind");
    let mut walk = WalkAhead::new(1, small());
    let said = walked(&mut walk, |folder, cookie| match (folder, cookie) {
        ("", 0) => listed(&wide),
        _ => Vec::new(),
    });
    let at = |what: &str| said.iter().position(|said| said == what).expect("it is walked");
    let lists = said.iter().filter(|said| said.starts_with("list")).count();
    assert_eq!((lists, at("behind")), (BATCH_NAMES + 2, 3 + 2 * BATCH_NAMES));
}

#[test]
fn without_content_only_folders_follow() {
    let mut walk = WalkAhead::new(1, AheadScope { with_attributes: Some(true), ..AheadScope::default() });
    let said = walked(&mut walk, |folder, cookie| match (folder, cookie) {
        ("", 0) => listed(&["a", "d1"]),
        ("d1", 0) => listed(&["b"]),
        _ => Vec::new(),
    });
    assert_eq!(said, ["look 0", "root 0", "list 2 0", "enter d1", "list 3 0", "list 3 1", "list 2 1"]);
}

/// Answers until the folder of the place is listed with these names.
fn begun(names: &[&str]) -> WalkAhead {
    let mut walk = WalkAhead::new(1, small());
    for answer in [looked(FileKind::Folder), folder()] {
        let (number, _) = walk.poll().expect("a place");
        walk.handle_answer(number, &mut answer.clone());
    }
    let (number, _) = walk.poll().expect("its names");
    assert_eq!(walk.poll(), None, "what comes next is not known yet");
    let mut answer = Answer::Names { entries: listed(names), cookie: 1, more: false, owners: None };
    walk.handle_answer(number, &mut answer);
    let Answer::Names { entries, .. } = answer else { unreachable!("it was one") };
    let numbers: Vec<_> = entries.iter().map(|entry| entry.follows).collect();
    assert_eq!(numbers, (3..3 + names.len() as u64).map(Some).collect::<Vec<_>>());
    walk
}

#[test]
fn what_is_unwanted_is_left_out_and_told_once() {
    let mut walk = begun(&["a", "b", "d", "c"]);
    assert_eq!(walk.handle_unwanted(4), [4], "a file that was to come");
    assert_eq!(walk.handle_unwanted(4), [0; 0]);
    assert_eq!(walk.poll().expect("a").0, 3);
    assert_eq!(walk.handle_unwanted(3), [0; 0], "it is on its way");
    // A folder that is being opened.
    assert_eq!(walk.poll().expect("d").0, 5);
    assert_eq!(walk.handle_unwanted(5), [0; 0]);
    assert!(walk.handle_answer(5, &mut folder()), "it is given back at once");
    // The root, with what is left of it.
    assert_eq!(walk.handle_unwanted(2), [2, 6]);
    assert!(walk.is_over() && walk.poll().is_none());
}

#[test]
fn names_beyond_the_room_are_left_to_requests() {
    let mut walk = WalkAhead::new(1, small());
    walk.set_room(STEP_BYTES_MAX + STEP_BYTES + 1);
    for answer in [looked(FileKind::Folder), folder()] {
        let (number, _) = walk.poll().expect("a place");
        walk.handle_answer(number, &mut answer.clone());
    }
    let (number, _) = walk.poll().expect("its names");
    let mut answer =
        Answer::Names { entries: listed(&["a", "b", "c"]), cookie: 1, more: false, owners: None };
    walk.handle_answer(number, &mut answer);
    let Answer::Names { entries, .. } = answer else { unreachable!("it was one") };
    let numbers: Vec<_> = entries.iter().map(|entry| entry.follows).collect();
    assert_eq!(numbers, [Some(3), Some(4), None]);
    assert_eq!(walk.handle_unwanted(4), [4]);
    assert_eq!(walk.poll().expect("a").0, 3);
    assert_eq!(walk.room_left(), STEP_BYTES_MAX + STEP_BYTES + 1, "what goes gives its room back");
}

#[test]
fn a_folder_that_is_left_while_it_is_listed_has_no_names_that_follow() {
    let mut walk = begun(&["d"]);
    assert_eq!(walk.poll().expect("d").0, 3);
    walk.handle_answer(3, &mut folder());
    assert_eq!(walk.poll().expect("its names").0, 3);
    assert_eq!(walk.handle_unwanted(3), [3]);
    let mut answer = Answer::Names { entries: listed(&["x"]), cookie: 1, more: false, owners: None };
    walk.handle_answer(3, &mut answer);
    let Answer::Names { entries, .. } = answer else { unreachable!("it was one") };
    assert_eq!(entries[0].follows, None);
    assert_eq!(words(&walk.poll().expect("the rest of the root").1), "list 2 1");
}

#[test]
fn empty_files_follow_where_they_are_wanted() {
    let said = |scope: AheadScope| {
        walked(&mut WalkAhead::new(1, scope), |folder, cookie| match (folder, cookie) {
            ("", 0) => listed(&["a", "empty"]),
            _ => Vec::new(),
        })
    };
    let empty_files = AheadScope { empty_files: true, ..small() };
    assert_eq!(said(empty_files), ["look 0", "root 0", "list 2 0", "a", "empty", "list 2 1"]);
    assert_eq!(said(small()), ["look 0", "root 0", "list 2 0", "a", "list 2 1"]);
    let names_alone = AheadScope { file_bytes_max: 0, ..empty_files };
    assert_eq!(said(names_alone), ["look 0", "root 0", "list 2 0", "list 2 1"]);
}

#[test]
fn places_alone_are_opened_and_not_listed() {
    let mut walk = WalkAhead::new(2, AheadScope { places_alone: true, ..small() });
    assert_eq!(
        walked(&mut walk, |_, _| listed(&["a"])),
        ["look 0", "look 1", "root 0", "open 1", "read 500"]
    );
}
