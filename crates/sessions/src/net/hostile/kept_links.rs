//! A caller that names a link, to have what lies beside it or behind it.
//!
//! Must not know: how links of honest callers are given.

use std::os::unix::fs::symlink;

use datapump_core::FileKind;
use minicbor::bytes::ByteVec;

use super::*;

/// A session about one place, in which a link stays one, and its connection for names.
fn kept(stage: &HostileStage, place: &str) -> (Channel, Channel) {
    let keeps_links = |begin: Begin| Begin { keeps_links: Some(true), ..begin };
    let (control, session) = stage.begin_with(Direction::Pull, place, "", keeps_links);
    (control, stage.join(Purpose::Names, session))
}

/// `served/out` leads to a file outside, `served/up` to the folder outside, in which `beside` is a link.
fn stage() -> HostileStage {
    let stage = HostileStage::new();
    std::fs::write(stage.home.path().join("secret"), "secret").expect("room");
    for (to, link) in [("../secret", "served/out"), ("..", "served/up"), ("secret", "beside")] {
        symlink(to, stage.home.path().join(link)).expect("room");
    }
    stage
}

#[test]
fn a_kept_link_is_told_and_opens_nothing() {
    let stage = stage();
    let (_control, mut names) = kept(&stage, "out");
    let looked = ask(&mut names, &PeerRequest::Look(0));
    // What it leads to lies outside.
    let Answer::Meta { meta, named: None, .. } = looked else { panic!("{looked:?}") };
    assert_eq!(meta.kind, FileKind::Symlink);
    assert!(matches!(ask(&mut names, &PeerRequest::Root { folder: 1, place: 0 }), Answer::Folder { .. }));
    let look_at = |name: &[u8]| PeerRequest::LookAt {
        above: 1,
        name: name.to_vec().into(),
        with_attributes: Some(true),
    };
    for (name, to) in [(&b"out"[..], Some(&b"../secret"[..])), (b"file", None), (b"up", None)] {
        let told = ask(&mut names, &look_at(name));
        let Answer::Names { entries, .. } = &told else { panic!("{told:?}") };
        let points_to = entries[0].points_to.as_ref().map(|to| &to[..]);
        assert_eq!((entries.len(), points_to, entries[0].meta.is_some()), (1, to, to.is_some()), "{name:?}");
    }
    let name = |name: &[u8]| ByteVec::from(name.to_vec());
    for request in [
        PeerRequest::List { folder: 1, cookie: 0, with_attributes: None },
        PeerRequest::Enter { folder: 2, above: 1, name: name(b"up") },
        PeerRequest::Open { file: 2, above: 1, name: name(b"file") },
        PeerRequest::Open { file: 2, above: 1, name: name(b"out") },
        PeerRequest::OpenPlace { file: 2, place: 0 },
        look_at(b".."),
        look_at(b"up/secret"),
    ] {
        let answer = ask(&mut names, &request);
        assert!(matches!(answer, Answer::Fault(_)), "{request:?}: {answer:?}");
    }
    stage.serves_on();
}

#[test]
fn no_link_outside_of_the_served_folder_is_told() {
    let stage = stage();
    let absolute = stage.home.path().join("beside").display().to_string();
    for place in ["../beside", "up/beside", "up/", &*absolute, "missing"] {
        let (_control, mut names) = kept(&stage, place);
        let answer = ask(&mut names, &PeerRequest::Look(0));
        assert!(matches!(answer, Answer::Fault(_)), "{place}: {answer:?}");
    }
    stage.serves_on();
}
