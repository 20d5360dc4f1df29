//! The step `make_tree` as it is written, and the numbers it stands for in a cell.
//!
//! Must not know: how a tree is made, where it stands.

use datapump::units::parse_bytes;
use serde::{Deserialize, Serialize};

use super::{Level, fill};

/// Ten million files is the largest tree anybody measures here; more is a number typed wrong.
const FILES_MAX: u64 = 10_000_000;
/// The path of a file in a hundred folders is still one that every program takes.
const LEVELS_MAX: u64 = 100;

/// The fields of a step `make_tree`: each a value or a factor in braces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TreeTemplate {
    /// Number of files, besides the large ones.
    pub files: Level,
    /// Size of the smallest of them.
    pub smallest: Level,
    /// Size of the largest of them. Between the two, all orders of magnitude are equally frequent.
    pub largest: Level,
    /// Files in one folder; all in one if it is left out.
    pub per_folder: Option<Level>,
    /// How many folders deep the files lie, the tree's own counted; 3 of many where it is left out.
    pub levels: Option<Level>,
    /// Number of files of `large_size` beside them.
    pub large_files: Option<Level>,
    /// Their size.
    pub large_size: Option<Level>,
}

/// A tree in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TreeShape {
    /// Number of files, besides the large ones.
    pub files: u64,
    /// Size of the smallest of them in bytes.
    pub smallest: u64,
    /// Size of the largest of them.
    pub largest: u64,
    /// Files in one folder.
    pub per_folder: u64,
    /// How many folders deep they lie, if that was said.
    pub levels: Option<u64>,
    /// Number of large files.
    pub large_files: u64,
    /// Their size in bytes.
    pub large_size: u64,
}

impl TreeTemplate {
    /// Fills the names in and reads the fields.
    ///
    /// Errors: the key and what is wrong with its value.
    pub fn filled(
        &self,
        value: &dyn Fn(&str) -> Option<String>,
    ) -> Result<TreeShape, (&'static str, String)> {
        let count = |key, level: &Level| read(key, level, value, parse_count);
        let size = |key, level: &Level| read(key, level, value, parse_bytes);
        let large = |key, level: &Option<Level>| level.as_ref().map_or(Ok(0), |level| count(key, level));
        let files = count("files", &self.files)?;
        let shape = TreeShape {
            files,
            smallest: size("smallest", &self.smallest)?,
            largest: size("largest", &self.largest)?,
            per_folder: self.per_folder.as_ref().map_or(Ok(files), |level| count("per_folder", level))?,
            levels: self.levels.as_ref().map(|level| count("levels", level)).transpose()?,
            large_files: large("large_files", &self.large_files)?,
            large_size: self.large_size.as_ref().map_or(Ok(0), |level| size("large_size", level))?,
        };
        shape.check().map(|()| shape)
    }
}

impl TreeShape {
    fn check(&self) -> Result<(), (&'static str, String)> {
        if self.smallest > self.largest {
            return Err(("smallest", "it is larger than `largest`; write a smaller size".into()));
        }
        if self.smallest == 0 && self.largest > 0 {
            let hint = "sizes from 0 have no orders of magnitude; write 1B, or 0B for both";
            return Err(("smallest", hint.into()));
        }
        if self.levels.is_some_and(|levels| levels > LEVELS_MAX) {
            return Err(("levels", format!("more than {LEVELS_MAX} make paths too long; write fewer")));
        }
        match (self.large_files, self.large_size) {
            (1.., 0) => Err(("large_size", "large files have no size; write for example 500MiB".into())),
            (0, 1..) => Err(("large_files", "there are none of this size; write for example 20".into())),
            _ => Ok(()),
        }
    }
}

fn read(
    key: &'static str,
    level: &Level,
    value: &dyn Fn(&str) -> Option<String>,
    parse: impl Fn(&str) -> Result<u64, String>,
) -> Result<u64, (&'static str, String)> {
    let word = fill(&level.to_string(), value).map_err(|name| (key, format!("{{{name}}} is no factor")))?;
    parse(&word).map_err(|wrong| (key, wrong))
}

fn parse_count(word: &str) -> Result<u64, String> {
    match word.parse() {
        Ok(count @ 1..=FILES_MAX) => Ok(count),
        Ok(_) => Err(format!("'{word}' is not between 1 and {FILES_MAX}")),
        Err(_) => Err(format!("'{word}' is no count; write for example 50000")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template() -> TreeTemplate {
        TreeTemplate {
            files: "{files}".into(),
            smallest: "1KiB".into(),
            largest: "64KiB".into(),
            ..TreeTemplate::default()
        }
    }

    fn value(name: &str) -> Option<String> {
        (name == "files").then(|| "50".to_string())
    }

    #[test]
    fn a_tree_is_filled_from_its_cell() {
        let shape = template().filled(&value).expect("in order");
        let expected =
            TreeShape { files: 50, smallest: 1024, largest: 65_536, per_folder: 50, ..TreeShape::default() };
        assert_eq!(shape, expected, "all files in one folder");
    }

    #[test]
    fn a_wrong_field_is_named_with_what_to_write() {
        for (change, key, hint) in [
            (
                (|tree| tree.files = "many".into()) as fn(&mut TreeTemplate),
                "files",
                "write for example 50000",
            ),
            (|tree| tree.files = 0_i64.into(), "files", "not between 1 and 10000000"),
            (|tree| tree.files = "{lanes}".into(), "files", "{lanes} is no factor"),
            (|tree| tree.smallest = "1M".into(), "smallest", "write 1MiB"),
            (|tree| tree.smallest = "1MiB".into(), "smallest", "larger than `largest`"),
            (|tree| tree.smallest = "0B".into(), "smallest", "write 1B, or 0B for both"),
            (|tree| tree.per_folder = Some(0_i64.into()), "per_folder", "not between"),
            (|tree| tree.levels = Some(0_i64.into()), "levels", "not between"),
            (|tree| tree.levels = Some(101_i64.into()), "levels", "more than 100"),
            (|tree| tree.large_files = Some(3_i64.into()), "large_size", "write for example 500MiB"),
            (|tree| tree.large_size = Some("1MiB".into()), "large_files", "write for example 20"),
        ] {
            let mut tree = template();
            change(&mut tree);
            let (at, message) = tree.filled(&value).expect_err("wrong");
            assert!(at == key && message.contains(hint), "{key}: {at}: {message}");
        }
    }
}
