//! The list of what a tree copy committed: any bytes are read without a panic, what was written is read back.
#![no_main]

use datapump_core::journal::{HEADER_BYTES, Header, marks};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let header = Header::decode(bytes);
    assert_eq!(header.is_some(), header.is_some_and(|header| bytes.starts_with(&header.encode())));
    let read: Vec<u64> = marks(bytes).collect();
    assert_eq!(read.len(), bytes.len().saturating_sub(HEADER_BYTES) / 8);
    let written: Vec<u8> = read.iter().flat_map(|mark| mark.to_le_bytes()).collect();
    assert!(bytes.get(HEADER_BYTES..).unwrap_or_default().starts_with(&written));
});
