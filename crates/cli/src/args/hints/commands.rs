//! Flags of diff, cmp, b3sum and sha256sum, and names of programs in the place of a command.
//!
//! Must not know: our own flags beyond their names.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

type Hints = &'static [(&'static [&'static str], &'static str)];

/// What users of diff and cmp type.
const OF_VERIFY: Hints = &[
    (
        &["-r", "--recursive", "-N", "--new-file"],
        "folders are compared with all that is in them; leave it out",
    ),
    (
        &["-b", "--print-bytes", "-l"],
        "the first byte that differs is reported, not the bytes, which cmp prints; leave it out",
    ),
    (&["-s", "--silent", "--brief"], "the exit status is that of cmp; --quiet prints differences alone"),
    (&["-c", "--checksum", "-a", "--text"], "content is always compared; leave it out"),
    (&["-x"], "--exclude PATTERN leaves names out"),
];

/// What users of b3sum and sha256sum type.
const OF_HASH: Hints = &[
    (&["-r", "--recursive"], "folders are hashed with all that is in them; leave it out"),
    (&["-b", "--binary", "-t", "--text", "-w", "--warn", "--strict"], "it is so anyway; leave it out"),
    (&["--status"], "--quiet prints files alone that do not match, and the exit status says the rest"),
    (&["--num-threads"], "--lanes COUNT and --depth COUNT say how much is read at once"),
    (
        &["--keyed", "--derive-key", "--length", "--seek", "--raw", "--no-names", "-l"],
        "plain BLAKE3 of 32 bytes with names is all there is; b3sum has it",
    ),
    (&["--tag", "-z", "--zero"], "lines are those of b3sum: HASH  NAME; a newline in a name is escaped"),
];

/// Programs, and our commands for what they do.
const PROGRAMS: [(&[&str], &str); 6] = [
    (&["cp", "scp", "dd", "install", "cat"], "copy"),
    (&["mv", "move", "rename"], "copy --remove-source-files, which removes each file that was copied"),
    (&["rsync", "sync", "rclone"], "mirror, or copy"),
    (&["diff", "cmp", "compare", "check"], "verify"),
    (&["b3sum", "sha256sum", "md5sum", "sum", "checksum"], "hash"),
    (&["server", "daemon", "receive", "listen"], "serve"),
];

/// The answer to a flag that one command alone is asked for.
pub(super) fn hint(command: &str, flag: &str) -> Option<&'static str> {
    let name = flag.split('=').next().unwrap_or(flag);
    let hints = match command {
        "verify" => OF_VERIFY,
        "hash" => OF_HASH,
        _ => return None,
    };
    hints.iter().find(|(flags, _)| flags.contains(&name)).map(|(_, hint)| *hint)
}

/// What may be meant where no command of ours stands first: `pump cp a b`, `pump -a a b`, `pump a b`.
pub fn of_words(words: &[OsString]) -> Option<String> {
    let first = words.get(1)?;
    let program = PROGRAMS.iter().find(|(names, _)| names.iter().any(|name| first == name));
    if let Some((_, command)) = program {
        return Some(format!("that is pump {command}"));
    }
    let is_place = first.as_bytes().iter().any(|byte| b"/:".contains(byte)) || Path::new(first).exists();
    match &words[1..] {
        [first] if first == "version" => Some("pump --version prints the version".into()),
        [first, _, ..] if is_place || first.as_bytes().starts_with(b"-") => {
            let typed: Vec<_> = words[1..].iter().map(|word| datapump::shell_word(word.as_bytes())).collect();
            Some(format!("a command comes first; to copy write: pump copy {}", typed.join(" ")))
        }
        _ => None,
    }
}
