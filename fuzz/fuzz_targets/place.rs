//! Words that name places: any bytes are read or refused, what a place shows is read as the same place, and nothing
//! that is shown can move the cursor.
#![no_main]

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use datapump::{Place, shown};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|word: &[u8]| {
    assert!(!shown(word).contains(char::is_control));
    match Place::parse(OsStr::from_bytes(word)) {
        Ok(place) => {
            let text = place.to_string();
            assert!(!text.contains(char::is_control));
            // A path with letters that are shown escaped is another path.
            let plain = text.as_bytes() == word;
            if plain || !matches!(place, Place::Path(_) | Place::Remote(_) | Place::Stripe(_)) {
                assert_eq!(Place::parse(OsStr::new(&text)), Ok(place));
            }
        }
        Err(error) => assert!(!error.to_string().contains(char::is_control)),
    }
});
