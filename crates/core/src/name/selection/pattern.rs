//! One pattern of a rule: which part of a path it is matched against (the table in `filter`).
//!
//! Must not know: what becomes of a name that it matches.

use crate::wildcard::{Begins, Wildcard, has_wildcards};

/// A longer path cannot be given to Linux (PATH_MAX, without its final zero), so no longer pattern is a name's.
const PATTERN_BYTES_MAX: usize = 4095;

/// A pattern.
#[derive(Debug)]
pub(crate) struct Pattern {
    folders_only: bool,
    /// As it was written.
    text: Vec<u8>,
    /// A folder's path is matched with a slash behind it, so that `name/***` matches the folder too.
    slash_behind: bool,
    part: PathPart,
    shape: PatternShape,
}

/// What of a path is matched.
#[derive(Clone, Copy, Debug, PartialEq)]
enum PathPart {
    /// This many names at the end; no path with fewer.
    Last(usize),
    Whole,
    WholeBehindSlash,
    /// The whole path, or what stands behind one of its slashes.
    FromAnyName,
}

#[derive(Debug)]
enum PatternShape {
    Plain(Vec<u8>),
    Wild(Wildcard),
}

impl Pattern {
    /// The error says what is wrong with the pattern, without naming it.
    pub(crate) fn new(text: &[u8]) -> Result<Pattern, String> {
        check_text(text)?;
        // A lone slash is a path with no name in it: it matches nothing, as with rsync.
        let written = text.to_vec();
        let folders_only = text.len() > 1 && text.ends_with(b"/");
        let text = &text[..text.len() - usize::from(folders_only)];
        let wild = has_wildcards(text);
        let part = PathPart::from_text(text, wild);
        let slash_behind = wild && text.ends_with(b"***");
        let bare = text.strip_prefix(b"/").unwrap_or(text);
        let shape =
            if wild { PatternShape::Wild(Wildcard::new(bare)?) } else { PatternShape::Plain(bare.to_vec()) };
        Ok(Pattern { folders_only, text: written, slash_behind, part, shape })
    }

    /// As it was written, if a slash stands at its front.
    pub(crate) fn anchored(&self) -> Option<&[u8]> {
        self.text.starts_with(b"/").then_some(&*self.text)
    }

    /// As it was written.
    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Whether it may say one thing of a path and another of the path with this name in front. What cannot easily be
    /// seen is taken for yes.
    pub(crate) fn depends_on(&self, name: &[u8]) -> bool {
        let text = self.text.strip_suffix(b"/").unwrap_or(&self.text);
        let has_any = |text: &[u8]| text.windows(2).any(|pair| pair == b"**");
        if text.starts_with(b"/") || !(text.contains(&b'/') || has_any(text)) {
            return text.starts_with(b"/");
        }
        // Only a name that is the first of the pattern could be matched by it, and not by what follows.
        let first = text.split(|&byte| byte == b'/').next().unwrap_or_default();
        if first.len() < text.len() && !first.iter().any(|byte| b"*?[\\".contains(byte)) {
            return first == name;
        }
        // Behind `**` a last name matches wherever it lies.
        let last = text.strip_prefix(b"**").map(|rest| rest.strip_prefix(b"/").unwrap_or(rest));
        last.is_none_or(|last| last.iter().any(|byte| b"/[".contains(byte)) || has_any(last))
    }

    /// Whether it matches a path below the folder that patterns begin in.
    pub(crate) fn matches(&self, path: &[u8], is_folder: bool) -> bool {
        if self.folders_only && !is_folder {
            return false;
        }
        let Some(text) = self.part.in_path(path) else { return false };
        match &self.shape {
            PatternShape::Plain(own) => own == text,
            PatternShape::Wild(wildcard) => {
                let before: &[u8] = if self.part == PathPart::WholeBehindSlash { b"/" } else { b"" };
                let behind: &[u8] = if self.slash_behind && is_folder { b"/" } else { b"" };
                let all = before.iter().chain(text).chain(behind).copied();
                wildcard.matches(all, self.part.begins())
            }
        }
    }
}

/// Errors: a text that can be no pattern: empty, too long, or with a zero byte.
fn check_text(text: &[u8]) -> Result<(), String> {
    match text.len() {
        0 => Err("there is nothing in it, so it matches nothing".into()),
        long if long > PATTERN_BYTES_MAX => {
            Err(format!("it has {long} bytes; no path has more than {PATTERN_BYTES_MAX}"))
        }
        _ if text.contains(&0) => Err("it has a zero byte in it, which no name has".into()),
        _ => Ok(()),
    }
}

impl PathPart {
    /// The part of a path that a pattern without the slash at its end is matched with.
    fn from_text(text: &[u8], wild: bool) -> PathPart {
        let slashes = text.iter().filter(|&&byte| byte == b'/').count();
        let any_depth = wild && text.windows(2).any(|pair| pair == b"**");
        if text.starts_with(b"/") {
            PathPart::Whole
        } else if !any_depth {
            PathPart::Last(slashes + 1)
        } else if text.starts_with(b"**") {
            PathPart::WholeBehindSlash
        } else {
            PathPart::FromAnyName
        }
    }

    /// The end of a path that this pattern is matched with: as many names as it has, or all of it. `None` if the path
    /// has fewer.
    fn in_path(self, path: &[u8]) -> Option<&[u8]> {
        let PathPart::Last(names) = self else { return Some(path) };
        let slashes = || path.iter().enumerate().rev().filter(|(_, byte)| **byte == b'/');
        match slashes().nth(names - 1) {
            Some((slash, _)) => Some(&path[slash + 1..]),
            None => (slashes().count() + 1 == names).then_some(path),
        }
    }

    fn begins(self) -> Begins {
        if self == PathPart::FromAnyName { Begins::AtEachName } else { Begins::AtStart }
    }
}
