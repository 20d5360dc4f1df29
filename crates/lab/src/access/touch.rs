//! How much of a page is used.
//!
//! Must not know: what is done with it.

use std::str::FromStr;

use datapump_engine::os::linux::WORD_BYTES;

/// A part of a page: one word, or a fraction of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Touch {
    /// One word of eight bytes.
    Word,
    /// So much of it, above 0 and at most 1.
    Part(f64),
}

impl Touch {
    /// Bytes of a page of this size: whole words, at least one.
    pub fn bytes(self, page_bytes: u64) -> u64 {
        match self {
            Touch::Word => WORD_BYTES,
            Touch::Part(part) => {
                let bytes = (page_bytes as f64 * part).round() as u64;
                bytes.next_multiple_of(WORD_BYTES).clamp(WORD_BYTES, page_bytes)
            }
        }
    }
}

impl FromStr for Touch {
    type Err = String;

    /// `word`, `1/8`, `0.5` or `1`.
    fn from_str(text: &str) -> Result<Touch, String> {
        if text == "word" {
            return Ok(Touch::Word);
        }
        let part = match text.split_once('/') {
            Some((part, whole)) => part.parse::<u32>().ok().zip(whole.parse::<u32>().ok()),
            None => None,
        };
        let part = part.map(|(part, whole)| f64::from(part) / f64::from(whole)).or_else(|| text.parse().ok());
        match part {
            Some(part) if part > 0.0 && part <= 1.0 => Ok(Touch::Part(part)),
            Some(_) => Err(format!("{text} of a page cannot be touched; write more than 0 and at most 1")),
            None => Err(format!("'{text}' is no part of a page; write word, 1/8, 0.5 or 1")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_and_become_words() {
        for (text, bytes) in [
            ("word", Ok(8)),
            ("1/1024", Ok(8)),
            ("1/100000", Ok(8)),
            ("1/8", Ok(1024)),
            ("0.125", Ok(1024)),
            ("3/4", Ok(6144)),
            ("1/3", Ok(2736)),
            ("1", Ok(8192)),
            ("8/8", Ok(8192)),
            ("0", Err("0 of a page cannot be touched; write more than 0 and at most 1")),
            ("0/8", Err("0/8 of a page cannot be touched; write more than 0 and at most 1")),
            ("9/8", Err("9/8 of a page cannot be touched; write more than 0 and at most 1")),
            ("1/0", Err("1/0 of a page cannot be touched; write more than 0 and at most 1")),
            ("-1", Err("-1 of a page cannot be touched; write more than 0 and at most 1")),
            ("NaN", Err("NaN of a page cannot be touched; write more than 0 and at most 1")),
            ("half", Err("'half' is no part of a page; write word, 1/8, 0.5 or 1")),
            ("1/", Err("'1/' is no part of a page; write word, 1/8, 0.5 or 1")),
        ] {
            let read = text.parse::<Touch>().map(|touch| touch.bytes(8192));
            assert_eq!(read, bytes.map_err(str::to_owned), "{text}");
        }
    }
}
