//! Which part of a file a pass goes through: the second of four, as `2/4`. Together all parts are the file.
//!
//! Must not know: what is done with it.

use std::ops::Range;
use std::str::FromStr;

/// One of so many parts of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessPart {
    /// From 1.
    number: u64,
    parts: u64,
}

impl AccessPart {
    /// All of it.
    pub const WHOLE: AccessPart = AccessPart { number: 1, parts: 1 };

    /// Its pages, in a file of so many.
    ///
    /// Errors: some part would have none.
    pub fn range(self, pages: u64) -> Result<Range<u64>, String> {
        if self.parts > pages {
            let parts = self.parts;
            return Err(format!(
                "has {pages} pages, which are not {parts} parts; give a smaller --page or fewer parts"
            ));
        }
        let end = |number: u64| (u128::from(pages) * u128::from(number) / u128::from(self.parts)) as u64;
        Ok(end(self.number - 1)..end(self.number))
    }
}

impl FromStr for AccessPart {
    type Err = String;

    fn from_str(word: &str) -> Result<AccessPart, String> {
        let numbers = word
            .split_once('/')
            .and_then(|(number, parts)| Some((number.parse().ok()?, parts.parse().ok()?)));
        match numbers {
            Some((number, parts)) if (1..=parts).contains(&number) => Ok(AccessPart { number, parts }),
            _ => Err(format!(
                "'{word}' is no part of a file; write its number and how many there are, as in 2/4"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_the_file_and_none_is_empty() {
        for (parts, pages) in [(1, 1), (1, 10), (3, 10), (7, 7), (30, 1000), (3, u64::MAX)] {
            let part = |number| AccessPart { number, parts }.range(pages).expect("pages enough");
            assert_eq!((part(1).start, part(parts).end), (0, pages), "{parts} of {pages}");
            for number in 1..=parts {
                assert!(!part(number).is_empty(), "{number} of {parts}, {pages}");
                assert!(
                    number == parts || part(number).end == part(number + 1).start,
                    "{number} of {parts}, {pages}"
                );
            }
        }
    }

    #[test]
    fn a_part_is_written_as_two_numbers() {
        assert_eq!("2/4".parse(), Ok(AccessPart { number: 2, parts: 4 }));
        assert_eq!("1/1".parse(), Ok(AccessPart::WHOLE));
        for word in ["", "2", "0/4", "5/4", "1/0", "a/b", "-1/2", "1/2/3"] {
            let wrong = word.parse::<AccessPart>().expect_err(word);
            assert!(wrong.contains("as in 2/4"), "{word}: {wrong}");
        }
        let wrong = AccessPart { number: 1, parts: 4 }.range(3).expect_err("three pages");
        assert!(wrong.contains("has 3 pages, which are not 4 parts; give a smaller --page"), "{wrong}");
    }
}
