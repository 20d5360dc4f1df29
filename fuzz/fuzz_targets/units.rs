//! Sizes, rates and durations as people write them: any text is read or refused with words, and what is written is
//! read back as the same.
#![no_main]

use datapump::units::{bytes_words, parse_bytes, parse_duration, parse_rate, rate_words, with_commas};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&str, u64, u32)| {
    let (text, bytes, small) = input;
    for refused in [parse_bytes(text).err(), parse_rate(text).err(), parse_duration(text).err()] {
        assert!(
            refused.is_none_or(|words| words.contains("write for example") || words.contains("; write "))
        );
    }
    assert_eq!(parse_bytes(&format!("{bytes}B")), Ok(bytes));
    assert_eq!(parse_rate(&format!("{bytes}B/s")), Ok(bytes));
    assert_eq!(parse_rate(&format!("{bytes}bit")), Ok(bytes / 8));
    assert_eq!(parse_bytes(&format!("{small}KiB")), Ok(u64::from(small) << 10));
    assert_eq!(parse_duration(&format!("{small}ms")).map(|time| time.as_millis()), Ok(u128::from(small)));
    assert_eq!(with_commas(bytes).replace(',', ""), bytes.to_string());
    assert!(rate_words(f64::from_bits(bytes)).ends_with("B/s"));
    // For people the size is rounded to one place: half a tenth of its unit at most.
    let bytes = bytes / 2; // A size rounded up to 16 EiB would not fit.
    let words = parse_bytes(&bytes_words(bytes)).expect("words are a size");
    assert!(words.abs_diff(bytes) <= bytes / 20 + 1, "{bytes}: {}", bytes_words(bytes));
});
