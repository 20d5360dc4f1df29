//! One pattern with wildcards, compiled once and matched against many names, byte by byte.
//!
//! The letters mean what rsync(1) says: `*` any bytes but `/`, `**` any bytes, `?` one byte but `/`, `[...]` one byte
//! of a set and never `/`, and `\` takes the sting out of the next byte, also inside a set. Sets know ranges, the
//! POSIX classes as ASCII has them, and negation by `!` or `^`; a `]` that stands first is a member.
//!
//! Matching follows every way through the pattern at once, so a name costs at most its bytes times the pattern's,
//! whatever was written; trying the ways one after another costs time without end on `*a*a*a*b`.
//!
//! Must not know: which part of a path is matched, and what follows from a match.

/// A pattern, compiled.
#[derive(Debug)]
pub struct Wildcard {
    pieces: Vec<Piece>,
}

/// Where in a text a match may begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Begins {
    /// At its first byte.
    AtStart,
    /// There, and behind each slash.
    AtEachName,
}

#[derive(Debug)]
enum Piece {
    Byte(u8),
    /// One byte of a set; the table never has the slash.
    OneOf(Box<LetterSet>),
    /// `*`
    Run,
    /// `**` and more.
    RunWithSlashes,
}

type LetterSet = [bool; 256];

type LetterClass = (&'static [u8], fn(&u8) -> bool);

/// The POSIX classes. Names are bytes, not text of some language: the classes have no letters beyond ASCII.
const CLASSES: [LetterClass; 12] = [
    (b"alnum", u8::is_ascii_alphanumeric),
    (b"alpha", u8::is_ascii_alphabetic),
    (b"blank", |byte| b" \t".contains(byte)),
    (b"cntrl", u8::is_ascii_control),
    (b"digit", u8::is_ascii_digit),
    (b"graph", u8::is_ascii_graphic),
    (b"lower", u8::is_ascii_lowercase),
    (b"print", |byte| (b' '..=b'~').contains(byte)),
    (b"punct", u8::is_ascii_punctuation),
    // C counts the vertical tab, Rust's own function does not.
    (b"space", |byte| b" \t\n\x0b\x0c\r".contains(byte)),
    (b"upper", u8::is_ascii_uppercase),
    (b"xdigit", u8::is_ascii_hexdigit),
];

const NEVER_CLOSED: &str = "its '[' is never closed; write \\[ for the letter itself";

/// Does the text hold a letter that makes it a pattern? A backslash alone does not.
pub fn has_wildcards(text: &[u8]) -> bool {
    text.iter().any(|byte| b"*?[".contains(byte))
}

/// Does a name match one component of a pattern, as a shell has it? A dot at its beginning has to be written, and what
/// leads to another folder is no name. A text without wildcards stands for itself.
pub fn name_matches(pattern: &[u8], name: &[u8]) -> bool {
    let is_hidden = name.starts_with(b".") && !pattern.starts_with(b".");
    let is_name = !matches!(name, b"" | b"." | b"..");
    match Wildcard::new(pattern) {
        Ok(compiled) if has_wildcards(pattern) => {
            is_name && !is_hidden && compiled.matches(name.iter().copied(), Begins::AtStart)
        }
        _ => pattern == name,
    }
}

/// Does a path match a pattern, component by component?
pub fn path_matches(pattern: &[u8], path: &[u8]) -> bool {
    let parts = |bytes: &'_ [u8]| bytes.iter().filter(|byte| **byte == b'/').count();
    let slash = |byte: &u8| *byte == b'/';
    pattern == path
        || (parts(pattern) == parts(path)
            && pattern.split(slash).zip(path.split(slash)).all(|(one, other)| name_matches(one, other)))
}

impl Wildcard {
    /// The error says what is wrong with the pattern, without naming it.
    pub fn new(pattern: &[u8]) -> Result<Wildcard, &'static str> {
        let (mut pieces, mut rest) = (Vec::new(), pattern);
        while let Some((&first, behind)) = rest.split_first() {
            let (piece, behind) = parse_piece(first, behind)?;
            pieces.push(piece);
            rest = behind;
        }
        Ok(Wildcard { pieces })
    }

    /// Does the pattern match to the end of the text?
    pub fn matches(&self, text: impl Iterator<Item = u8>, begins: Begins) -> bool {
        // reached[n]: the first n pieces match what was read of the text.
        let mut reached = vec![false; self.pieces.len() + 1];
        reached[0] = true;
        self.pass_empty_runs(&mut reached);
        for byte in text {
            self.step(&mut reached, byte);
            reached[0] |= byte == b'/' && begins == Begins::AtEachName;
            self.pass_empty_runs(&mut reached);
            if begins == Begins::AtStart && !reached.contains(&true) {
                return false;
            }
        }
        reached[self.pieces.len()]
    }

    /// Backwards, because each place is reached from the one before it.
    fn step(&self, reached: &mut [bool], byte: u8) {
        for place in (0..reached.len()).rev() {
            let stays = self.pieces.get(place).is_some_and(|piece| piece.goes_on(byte));
            let comes = place > 0 && reached[place - 1] && self.pieces[place - 1].takes(byte);
            reached[place] = (reached[place] && stays) || comes;
        }
    }

    fn pass_empty_runs(&self, reached: &mut [bool]) {
        for (place, piece) in self.pieces.iter().enumerate() {
            reached[place + 1] |= reached[place] && matches!(piece, Piece::Run | Piece::RunWithSlashes);
        }
    }
}

impl Piece {
    /// Is this the one byte that the piece stands for?
    fn takes(&self, byte: u8) -> bool {
        match self {
            Piece::Byte(own) => *own == byte,
            Piece::OneOf(set) => set[usize::from(byte)],
            Piece::Run | Piece::RunWithSlashes => false,
        }
    }

    /// Is this a run, and may the byte be in it?
    fn goes_on(&self, byte: u8) -> bool {
        match self {
            Piece::Run => byte != b'/',
            Piece::RunWithSlashes => true,
            Piece::Byte(_) | Piece::OneOf(_) => false,
        }
    }
}

/// The piece that begins with this byte, and the bytes behind it.
///
/// Errors: what is wrong with it.
fn parse_piece(first: u8, behind: &[u8]) -> Result<(Piece, &[u8]), &'static str> {
    Ok(match first {
        b'*' => run(behind),
        b'?' => (one_of([true; 256]), behind),
        b'[' => set(behind)?,
        b'\\' => {
            let (&byte, behind) =
                behind.split_first().ok_or("it ends with a backslash; write \\\\ for the letter itself")?;
            (Piece::Byte(byte), behind)
        }
        byte => (Piece::Byte(byte), behind),
    })
}

fn run(behind: &[u8]) -> (Piece, &[u8]) {
    let more = behind.iter().take_while(|&&byte| byte == b'*').count();
    (if more == 0 { Piece::Run } else { Piece::RunWithSlashes }, &behind[more..])
}

fn one_of(mut set: LetterSet) -> Piece {
    set[usize::from(b'/')] = false;
    Piece::OneOf(Box::new(set))
}

/// A set, from behind its `[`.
fn set(inside: &[u8]) -> Result<(Piece, &[u8]), &'static str> {
    let negated = matches!(inside.first(), Some(b'!' | b'^'));
    let mut set = [false; 256];
    let behind = add_members(&inside[usize::from(negated)..], &mut set)?;
    set.iter_mut().for_each(|has| *has ^= negated);
    Ok((one_of(set), behind))
}

/// Puts the members of a bracket into the set, and gives what is behind the `]`.
///
/// Errors: the bracket has no end, or a range or class is wrong.
fn add_members<'a>(inside: &'a [u8], set: &mut LetterSet) -> Result<&'a [u8], &'static str> {
    let mut rest = inside;
    // What a range would begin with: a single byte that stands directly before the '-'.
    let mut lowest = None;
    loop {
        match *rest {
            [] => return Err(NEVER_CLOSED),
            [b']', ..] if rest.len() < inside.len() => return Ok(&rest[1..]),
            [b'-', next, ..] if next != b']' && lowest.is_some() => {
                let (highest, behind) = letter(&rest[1..])?;
                add_range(set, lowest.take(), highest);
                rest = behind;
            }
            [b'[', b':', ..] if class_end(&rest[2..])?.is_some() => {
                rest = add_class(set, &rest[2..])?;
                lowest = None;
            }
            _ => {
                let (byte, behind) = letter(rest)?;
                set[usize::from(byte)] = true;
                (lowest, rest) = (Some(byte), behind);
            }
        }
    }
}

/// One byte, perhaps behind a backslash.
fn letter(text: &[u8]) -> Result<(u8, &[u8]), &'static str> {
    match text {
        [b'\\', byte, behind @ ..] => Ok((*byte, behind)),
        [b'\\'] | [] => Err(NEVER_CLOSED),
        [byte, behind @ ..] => Ok((*byte, behind)),
    }
}

/// A range that runs backwards has no members.
fn add_range(set: &mut LetterSet, lowest: Option<u8>, highest: u8) {
    let lowest = lowest.unwrap_or(highest);
    (lowest..=highest).for_each(|byte| set[usize::from(byte)] = true);
}

/// Where the class that begins here ends, at its `:]`; nothing when the next `]` has no colon before it, for then
/// the `[` is a member like others.
fn class_end(text: &[u8]) -> Result<Option<usize>, &'static str> {
    let close = text.iter().position(|&byte| byte == b']').ok_or(NEVER_CLOSED)?;
    Ok(close.checked_sub(1).filter(|&end| text[end] == b':'))
}

/// Adds the letters of a class to the set, and gives the text behind its `:]`.
///
/// Errors: there is no such class.
fn add_class<'a>(set: &mut LetterSet, text: &'a [u8]) -> Result<&'a [u8], &'static str> {
    let end = class_end(text)?.unwrap_or(0);
    let (_, has) = CLASSES
        .iter()
        .find(|(name, _)| *name == &text[..end])
        .ok_or("it names a class that there is not; there are [:alpha:], [:digit:] and their like")?;
    (0..=255).filter(has).for_each(|byte: u8| set[usize::from(byte)] = true);
    Ok(&text[end + 2..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matched(pattern: &str, text: &str) -> bool {
        let pattern = Wildcard::new(pattern.as_bytes()).unwrap_or_else(|error| panic!("{pattern}: {error}"));
        pattern.matches(text.bytes(), Begins::AtStart)
    }

    #[test]
    fn wildcards_match_whole_texts() {
        for (pattern, yes, no) in [
            ("a*", "a abc", "b ba a/ a/b"),
            ("*.o", ".o a.o a.b.o", "o a.os a/b.o"),
            ("a**", "a a/ a/b ab/c", "b/a"),
            ("a**c", "ac abc a/b/c", "a/b/cd"),
            ("a***c", "ac a/b/c", "ab"),
            ("a/*/b", "a/x/b a//b", "a/b a/x/y/b"),
            ("a/**/b", "a/x/b a/x/y/b", "a/b"),
            ("?", "a * ?", "/ ab"),
            ("a?c", "abc a?c", "ac a/c abbc"),
            ("\\*", "*", "a \\* \\"),
            ("a\\b?", "abc", "a\\bc"),
            ("größe?", "größe1", "größe"),
        ] {
            for text in yes.split(' ') {
                assert!(matched(pattern, text), "{pattern} {text}");
            }
            for text in no.split(' ') {
                assert!(!matched(pattern, text), "{pattern} {text}");
            }
        }
    }

    #[test]
    fn sets_match_one_byte() {
        for (pattern, yes, no) in [
            ("[abc]", "abc", "d]/"),
            ("[a-c]", "abc", "d-"),
            ("[!a-c]", "dA-!", "abc/"),
            ("[^a-c]", "dA-^", "abc/"),
            ("[+-0]", "+,-.0", "/1"),
            ("[]a]", "]a", "b["),
            ("[!]a]", "b[", "]a"),
            ("[]-a]", "]_a", "-b\\"),
            ("[a-]", "a-", "b"),
            ("[-a]", "a-", "b"),
            ("[a\\]]", "a]", "\\"),
            ("[\\a-\\c]", "abc", "\\-"),
            ("[c-a]", "c", "ab-"),
            ("[a-c-e]", "abc-e", "d"),
            ("[[:alpha:]]", "aZ", "0[:"),
            ("[[:digit:][:upper:]_]", "0A_", "a["),
            ("[[:alpha:]-z0]", "b-z0", ".1"),
            ("[![:space:]]", "a", " \t\x0b"),
            ("[[:punct:]]", "!~", "a /"),
            ("[[:a]", "[:a", "b]"),
            ("[[]", "[", "]"),
            ("[[.a]", "[.a", "]"),
        ] {
            for text in yes.split("").filter(|text| !text.is_empty()) {
                assert!(matched(pattern, text), "{pattern} {text:?}");
            }
            for text in no.split("").filter(|text| !text.is_empty()) {
                assert!(!matched(pattern, text), "{pattern} {text:?}");
            }
        }
    }

    #[test]
    fn a_match_may_begin_behind_each_slash() {
        for (pattern, text, expected) in [
            ("a/**", "a/b", true),
            ("a/**", "x/y/a/b/c", true),
            ("a/**", "xa/b", false),
            ("*/b", "x/y/b", true),
            ("b", "a/bc", false),
        ] {
            let compiled = Wildcard::new(pattern.as_bytes()).expect("in order");
            assert_eq!(compiled.matches(text.bytes(), Begins::AtEachName), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for (pattern, part) in [
            ("[", "never closed"),
            ("a*[]", "never closed"),
            ("[!]", "never closed"),
            ("[a-", "never closed"),
            ("[a-\\", "never closed"),
            ("[[:alpha:]", "never closed"),
            ("[[:alpha", "never closed"),
            ("[\\]", "never closed"),
            ("*\\", "backslash"),
            ("[[:alphabet:]]", "class"),
            ("[[::]]", "class"),
        ] {
            let error = Wildcard::new(pattern.as_bytes()).expect_err(pattern);
            assert!(error.contains(part), "{pattern}: {error}");
        }
    }

    /// Trying the ways one after another would take more than the age of the universe: this test ends, or hangs.
    #[test]
    fn a_hostile_pattern_costs_no_more_than_its_length_times_the_names() {
        let name = "a".repeat(4000);
        for pattern in ["a*".repeat(100) + "b", "**a".repeat(100) + "/b", "*?".repeat(100) + "[!a]"] {
            assert!(!matched(&pattern, &name), "{pattern}");
        }
        assert!(matched(&"*a".repeat(1000), &name));
    }

    #[test]
    fn any_bytes_are_taken() {
        for first in 0..=255 {
            for second in 0..=255 {
                let pattern = [b'[', first, second, b'-', first, b']', b'*', second];
                if let Ok(compiled) = Wildcard::new(&pattern) {
                    compiled.matches(pattern.into_iter(), Begins::AtEachName);
                }
            }
        }
    }
}
