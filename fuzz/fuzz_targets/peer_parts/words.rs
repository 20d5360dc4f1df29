//! Names and settings in the words of a peer.

use datapump_core::wire::attributes::OwnerName;
use datapump_core::wire::bounds::OwnerId;
use datapump_core::wire::peer_request::Answer;
use datapump_core::wire::session::{HostSettings, LinkFacts, ShortText};

use super::{Number, Say, Says};

/// The settings of the host, if they are what is said first.
pub fn host(says: &Says) -> Option<HostSettings> {
    let mut says = says.lock().expect("no panic");
    let Some(Say::Host(number, words)) = says.front() else { return None };
    let (number, words) = (number.value(), String::from_utf8_lossy(words).into_owned());
    says.pop_front();
    let text = || Some(ShortText::shortened(&words));
    let link = LinkFacts {
        name: text(),
        mtu_bytes: Some(number as u32),
        mbit_per_s: Some(number as u32),
        numa_node: Some(number as u32),
        interrupts: Some(number as u32),
        ..LinkFacts::default()
    };
    Some(HostSettings {
        kernel: text(),
        congestion: text(),
        mtu_probing: Some(number as u8),
        receive_buffer: Some([number; 3]),
        send_buffer: Some([number, 0, number]),
        link: Some(link),
        ..HostSettings::default()
    })
}

/// Names that this host has, and others.
pub fn named(mut answer: Answer, said: &[(bool, Number, u8)]) -> Answer {
    let name = |which: u8| match which % 5 {
        0 => b"root".to_vec(),
        1 => b"daemon".to_vec(),
        2 => vec![b'x'; usize::from(which) * 3],
        3 => vec![which; 2],
        _ => format!("user{which}").into_bytes(),
    };
    let called = |&(is_group, id, which): &(bool, Number, u8)| OwnerName {
        is_group,
        id: OwnerId(id.value() as u32),
        name: name(which).into(),
    };
    if let Answer::Meta { owners, .. }
    | Answer::Folder { owners, .. }
    | Answer::Names { owners, .. }
    | Answer::File { owners, .. } = &mut answer
    {
        *owners = Some(said.iter().map(called).collect());
    }
    answer
}
