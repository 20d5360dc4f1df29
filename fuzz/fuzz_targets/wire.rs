//! What another host sends: any bytes are refused or mean something, which is written as it was read.
#![no_main]

use datapump_core::wire::attributes::Entry;
use datapump_core::wire::frame::{HEAD_BYTES, Head};
use datapump_core::wire::hello::{read_greeting, read_reply};
use datapump_core::wire::peer_request::{Answer, PeerRequest};
use datapump_core::wire::session::Message;
use datapump_core::wire::{BLOCK_BYTES_MAX, MESSAGE_BYTES_MAX, decode, encode};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some(head) = bytes.first_chunk::<HEAD_BYTES>()
        && let Ok(head) = Head::decode(head)
    {
        assert!(head.len <= BLOCK_BYTES_MAX.max(MESSAGE_BYTES_MAX));
        assert_eq!(Head::decode(&head.encode()), Ok(head));
    }
    if let Ok(ask) = decode::<PeerRequest>(bytes) {
        assert_eq!(decode::<PeerRequest>(&encode(&ask)), Ok(ask));
    }
    if let Ok(answer) = decode::<Answer>(bytes) {
        if let Answer::Names { entries, .. } = &answer {
            let _ = entries.iter().filter(|entry| entry.is_plain()).count();
        }
        assert_eq!(decode::<Answer>(&encode(&answer)), Ok(answer));
    }
    if let Ok(message) = decode::<Message>(bytes) {
        assert_eq!(decode::<Message>(&encode(&message)), Ok(message));
    }
    let _ = decode::<Entry>(bytes);
    let _ = (read_greeting(bytes), read_reply(bytes));
});
