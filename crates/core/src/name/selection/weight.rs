//! What rules and lists of names take in memory once they are read: known before they are, so that it can be charged.
//!
//! An upper bound: names that are sorted share the folders they lie in, others are counted as if they did not.
//!
//! Must not know: what is charged for it.

use super::Selection;
use super::allocated;
use super::filter::PlacedRule;

/// A rule, in a list that grew by doubling.
const RULE_BYTES: usize = 2 * size_of::<PlacedRule>() + 64;
/// What a letter of a pattern with wildcards becomes, and a set of letters besides.
const WILD_LETTER_BYTES: usize = 48;
const SET_BYTES: usize = 320;
/// Copies of a text: as it was given, and twice more where options are kept.
const COPIES: usize = 3;
/// A name in the list of its folder, and as it was read.
const NAME_BYTES: usize = 192;
/// A folder that has names on the list: its place in two tables, and its first names.
const FOLDER_BYTES: usize = 512;

/// Memory of all that was selected.
pub fn selection_bytes(selection: &[Selection]) -> usize {
    selection.iter().map(|part| 3 * size_of::<Selection>() + part_bytes(part)).sum()
}

/// Memory of what one flag says, as it is held and as it is read.
fn part_bytes(part: &Selection) -> usize {
    match part {
        Selection::Exclude(rule) | Selection::Include(rule) | Selection::Filter(rule) => rule_bytes(rule),
        Selection::ExcludeFrom(content, zero)
        | Selection::IncludeFrom(content, zero)
        | Selection::FiltersFrom(content, zero) => {
            COPIES * allocated(content.len()) + lines(content, *zero).map(rule_bytes).sum::<usize>()
        }
        Selection::Whole(content) => COPIES * allocated(content.len()) + names_bytes(content, true),
        Selection::Names(content, zero) => COPIES * allocated(content.len()) + names_bytes(content, *zero),
    }
}

fn rule_bytes(rule: &[u8]) -> usize {
    let sets = rule.iter().filter(|letter| b"?[".contains(letter)).count();
    let letters = if sets > 0 || rule.contains(&b'*') { rule.len() } else { 0 };
    RULE_BYTES + COPIES * allocated(rule.len()) + WILD_LETTER_BYTES * letters + SET_BYTES * sets
}

/// Memory of a list of names. Each folder is kept under its whole path.
fn names_bytes(content: &[u8], zero: bool) -> usize {
    let (mut before, mut bytes): (&[u8], _) = (b"", 0);
    for name in lines(content, zero) {
        let shared = name.iter().zip(before).take_while(|(one, other)| one == other).count();
        let folders = name.iter().enumerate().filter(|(at, byte)| **byte == b'/' && *at >= shared);
        bytes += folders.map(|(at, _)| FOLDER_BYTES + NAME_BYTES + 2 * at).sum::<usize>();
        bytes += NAME_BYTES + 3 * name.len();
        before = name;
    }
    bytes
}

fn lines(content: &[u8], zero: bool) -> impl Iterator<Item = &[u8]> {
    content.split(move |byte| if zero { *byte == 0 } else { matches!(*byte, b'\n' | b'\r') })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grows_faster_than_its_letters_is_counted_as_what_it_becomes() {
        let names = |content: &[u8]| selection_bytes(&[Selection::Names(content.to_vec(), false)]);
        let deep = [b"a/".repeat(2000), b"a".to_vec()].concat();
        assert!(names(&deep) > 5_000_000, "each folder has the whole path before it");
        let flat: Vec<u8> =
            (0..100_000).flat_map(|number| format!("a/b/name-{number}\n").into_bytes()).collect();
        assert!(names(&flat) < 40 << 20, "{}", names(&flat));
        let rules = selection_bytes(&[Selection::ExcludeFrom(b"a\n".repeat(100_000), false)]);
        assert!((20 << 20..100 << 20).contains(&rules), "{rules}");
        let wild = selection_bytes(&[Selection::Exclude(b"?".repeat(10_000))]);
        assert!(wild > 3_000_000);
    }
}
