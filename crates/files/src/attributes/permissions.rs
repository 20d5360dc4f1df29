//! Permissions that copies get instead of the source's, in the words of chmod(1).
//!
//! Words that copy bits (`g=u`) are refused. Without them all words of one sentence come to two masks: bits that go,
//! and bits that come; one pair for each kind of file on which they may depend.
//!
//! Must not know: files, how permissions are set.

use std::str::Chars;

use serde::{Deserialize, Serialize};

use crate::disk::{FileKind, umask};

/// Set-user-id and set-group-id: chmod(2).
pub const SET_ID_BITS: u32 = 0o6000;
const ALL: u32 = 0o7777;
const MAY_RUN: u32 = 0o111;

/// What becomes of the permissions of folders, of files that the source lets somebody run, and of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permissions {
    folders: Bits,
    programs: Bits,
    files: Bits,
}

/// Bits that stay, and bits that are set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Bits {
    stay: u16,
    set: u16,
}

impl Bits {
    const AS_THEY_ARE: Bits = Bits { stay: ALL as u16, set: 0 };

    fn then(self, gone: u32, set: u32) -> Bits {
        let (gone, set) = ((gone & ALL) as u16, (set & ALL) as u16);
        Bits { stay: self.stay & !gone, set: self.set & !gone | set }
    }

    fn of(self, mode: u32) -> u32 {
        (mode & u32::from(self.stay) | u32::from(self.set)) & ALL
    }
}

/// Which files a clause is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    All,
    Folders,
    Files,
}

impl Permissions {
    /// Reads `u=rwX,go-w`, `D2755,F644` (rsync's letters for folders, and for all else). A clause that does not say
    /// whose permissions it means leaves out the bits of the umask.
    pub fn parse(words: &str, umask: u32) -> Result<Permissions, String> {
        let mut permissions =
            Permissions { folders: Bits::AS_THEY_ARE, programs: Bits::AS_THEY_ARE, files: Bits::AS_THEY_ARE };
        for clause in words.split(',') {
            permissions.add(clause, umask).map_err(|why| format!("'{clause}' {why}"))?;
        }
        Ok(permissions)
    }

    /// The same of words that were typed here: the umask is the process's.
    pub fn typed(words: &str) -> Result<Permissions, String> {
        Permissions::parse(words, umask())
    }

    /// What a mode becomes.
    pub fn of(&self, mode: u32, kind: FileKind) -> u32 {
        match kind {
            FileKind::Symlink => mode,
            FileKind::Folder => self.folders.of(mode),
            _ if mode & MAY_RUN != 0 => self.programs.of(mode),
            _ => self.files.of(mode),
        }
    }

    /// Adds a clause of a mode: an octal number, or letters as chmod(1) takes them.
    ///
    /// Errors: what is wrong with it.
    fn add(&mut self, clause: &str, umask: u32) -> Result<(), String> {
        let (which, rest) = match clause.strip_prefix(['D', 'F']) {
            Some(rest) if clause.starts_with('D') => (Which::Folders, rest),
            Some(rest) => (Which::Files, rest),
            None => (Which::All, clause),
        };
        if rest.starts_with(|letter: char| letter.is_ascii_digit()) {
            let bits = u32::from_str_radix(rest, 8).ok().filter(|bits| *bits <= ALL);
            let bits = bits.ok_or("is no octal number up to 7777")?;
            self.change(which, |_, _| (ALL, bits));
            return Ok(());
        }
        let (whose, actions) = whose(rest);
        let umask = if whose == 0 { umask } else { 0 };
        let whose = if whose == 0 { ALL } else { whose };
        let mut letters = actions.chars();
        let mut sign = letters.next().filter(is_sign).ok_or_else(usage)?;
        loop {
            let (named, next) = Named::read(&mut letters)?;
            self.change(which, |folder, program| named.masks(sign, whose, umask, folder, program));
            let Some(next) = next else { return Ok(()) };
            sign = next;
        }
    }

    /// `masks` says what goes and what comes: of a folder, and of a file that somebody may run.
    fn change(&mut self, which: Which, masks: impl Fn(bool, bool) -> (u32, u32)) {
        let kinds = [
            (&mut self.folders, Which::Folders, (true, true)),
            (&mut self.programs, Which::Files, (false, true)),
            (&mut self.files, Which::Files, (false, false)),
        ];
        for (bits, kind, (folder, program)) in kinds {
            if which == Which::All || which == kind {
                let (gone, set) = masks(folder, program);
                *bits = bits.then(gone, set);
            }
        }
    }
}

/// Permissions that a clause names.
#[derive(Clone, Copy, Default)]
struct Named {
    bits: u32,
    /// `X`: to search folders, and to run what somebody may run.
    if_run: bool,
}

impl Named {
    /// Up to the next sign, which it gives, too.
    fn read(letters: &mut Chars<'_>) -> Result<(Named, Option<char>), String> {
        let mut named = Named::default();
        for letter in letters {
            match letter {
                'r' => named.bits |= 0o444,
                'w' => named.bits |= 0o222,
                'x' => named.bits |= MAY_RUN,
                'X' => named.if_run = true,
                's' => named.bits |= SET_ID_BITS,
                't' => named.bits |= 0o1000,
                'u' | 'g' | 'o' => {
                    return Err("copies permissions of others: name them, as in g=rX".into());
                }
                sign if is_sign(&sign) => return Ok((named, Some(sign))),
                _ => return Err(usage()),
            }
        }
        Ok((named, None))
    }

    /// The bits that a sign takes away and those that it sets.
    fn masks(self, sign: char, whose: u32, umask: u32, folder: bool, program: bool) -> (u32, u32) {
        let run = if self.if_run && program { MAY_RUN } else { 0 };
        let bits = (self.bits | run) & whose & !umask;
        // Those of a folder stay unless they are named: chmod(1).
        let stays = if folder { SET_ID_BITS & !self.bits } else { 0 };
        match sign {
            '+' => (0, bits),
            '-' => (bits, 0),
            _ => (whose & !stays, bits),
        }
    }
}

fn is_sign(letter: &char) -> bool {
    matches!(letter, '+' | '-' | '=')
}

fn usage() -> String {
    "is no permission; write for example u=rwX,go-w or D755,F644".into()
}

/// Whose permissions a clause means (nobody's if it does not say), and the rest of it.
fn whose(clause: &str) -> (u32, &str) {
    let rest = clause.trim_start_matches(['u', 'g', 'o', 'a']);
    let named = &clause[..clause.len() - rest.len()];
    let bits = named.chars().map(|letter| match letter {
        'u' => 0o4700,
        'g' => 0o2070,
        'o' => 0o1007,
        _ => ALL,
    });
    (bits.fold(0, |sum, bits| sum | bits), rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As chmod(1) of GNU coreutils 9 answers with the umask 022, but for the letters D and F of rsync(1).
    #[test]
    fn words_mean_what_they_mean_to_chmod() {
        const FOLDER: FileKind = FileKind::Folder;
        const FILE: FileKind = FileKind::Regular;
        for (words, kind, before, after) in [
            ("u=rw,go=r", FILE, 0o755, 0o644),
            ("go-rwx", FILE, 0o755, 0o700),
            ("a+rX", FILE, 0o600, 0o644),
            ("a+rX", FILE, 0o700, 0o755),
            ("a+rX", FOLDER, 0o700, 0o755),
            ("a+rX", FOLDER, 0o600, 0o755),
            ("+w", FILE, 0o444, 0o644),
            ("-w", FILE, 0o666, 0o466),
            ("=rw", FILE, 0o4777, 0o644),
            ("=", FILE, 0o777, 0),
            ("=", FOLDER, 0o2777, 0o2000),
            ("g=s", FILE, 0o777, 0o2707),
            ("u+s,o+t", FILE, 0o755, 0o5755),
            ("ug-s", FILE, 0o6755, 0o755),
            ("o+s,u+t", FILE, 0o755, 0o755),
            ("u=rwx-w+s", FILE, 0, 0o4500),
            ("0", FILE, 0o777, 0),
            ("2755", FOLDER, 0o700, 0o2755),
            ("D755,F644", FOLDER, 0o700, 0o755),
            ("D755,F644", FILE, 0o700, 0o644),
            ("Dg+s,ug+w,Fo-w,+X", FOLDER, 0o502, 0o2733),
            ("Dg+s,ug+w,Fo-w,+X", FILE, 0o402, 0o620),
            ("F644", FileKind::Fifo, 0o600, 0o644),
            ("777", FileKind::Symlink, 0o700, 0o700),
        ] {
            let permissions = Permissions::parse(words, 0o022).unwrap();
            assert_eq!(permissions.of(before, kind), after, "{words} {before:o} {kind:?}: {after:o}");
        }
    }

    #[test]
    fn what_is_no_permission_says_why() {
        for (words, part) in [
            ("", "write for example"),
            ("u", "write for example"),
            ("u+q", "write for example"),
            ("rw", "write for example"),
            ("u+r,", "write for example"),
            ("D", "write for example"),
            ("888", "octal"),
            ("17777", "octal"),
            ("7+x", "octal"),
            ("g=u", "name them, as in g=rX"),
        ] {
            let why = Permissions::parse(words, 0).expect_err(words);
            assert!(why.contains(part), "{words}: {why}");
        }
    }
}
