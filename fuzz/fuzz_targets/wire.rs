//! What another host sends: any bytes are refused or mean something, which is written as it was read.
#![no_main]

use datapump_core::wire::attributes::Entry;
use datapump_core::wire::datagrams::{DatagramCounter, DatagramHead};
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
    if let Some(head) = DatagramHead::read(bytes) {
        let mut written = bytes.to_vec();
        head.write(&mut written);
        assert_eq!(written, bytes);
        let mut counter = DatagramCounter::new(100);
        // No clock has run for longer than nine years.
        let [one_ns, other_ns] = [head.sequence, head.sent_ns].map(|number| number >> 7);
        counter.handle(head.sequence, 1, other_ns, one_ns);
        counter.handle(head.sent_ns, 1, one_ns, other_ns);
        let counts = counter.counts(head.sequence);
        assert!(decode::<Message>(&encode(&Message::DatagramsCounted(counts.clone().into()))).is_ok());
        assert!(counts.unique + counts.lost <= 100);
    }
    let _ = decode::<Entry>(bytes);
    let _ = (read_greeting(bytes), read_reply(bytes));
});
