//! Studies and rows as files: any text is read or refused with words.
#![no_main]

use std::io::Write;

use datapump_lab::row::read_rows;
use datapump_lab::study::{Changes, Study};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&str, &str, bool)| {
    let (text, level, quick) = input;
    let set = vec![("depth".to_string(), vec![level.to_string()])];
    for changes in [Changes::default(), Changes { set, quick, ..Changes::default() }] {
        if let Err(error) = Study::parse("fuzz.toml", text, &changes) {
            assert!(!error.message.is_empty());
        }
    }
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(text.as_bytes()).expect("room");
    // An error is as good as rows: what counts is that both are values.
    let _ = read_rows(file.path());
});
