//! Flags of cp, rsync and dd that Datapump does not need, and what to do instead.
//!
//! Must not know: our own flags beyond their names.

/// Flags, and the answer to who types them.
const HABITS: [(&[&str], &str); 13] = [
    (&["-r", "-R", "--recursive"], "folders are copied with all that is in them; leave it out"),
    (&["-a", "--archive"], "folders, links and all attributes are always kept; leave it out"),
    (
        &["-H", "-A", "-X"],
        "hard links, access control lists and extended attributes are always kept; leave it out",
    ),
    (&["-L", "--dereference"], "links inside folders stay links, links that are named are followed"),
    (&["-p", "--preserve"], "mode, times, owner and attributes are always kept; leave it out"),
    (&["-f", "--force"], "an existing target is replaced, once its copy is whole; leave it out"),
    (&["--interactive"], "nothing is asked; see what would happen with -n"),
    (&["-P", "--partial"], "progress is shown on a terminal; a copy that is cut leaves the old target whole"),
    (&["-t", "--target-directory"], "the last word is the target; write the folder there"),
    (&["--fsync"], "copies are put on stable storage unless --sync=none"),
    (&["-S"], "holes stay holes unless --sparse=never"),
    (&["--append", "--append-verify"], "a target is replaced as a whole"),
    (&["-b", "--block-size", "--bs"], "the size of a request is --request-size, as in --request-size 1MiB"),
];

/// The answer to a flag that is not ours, if it is a habit.
pub fn hint(flag: &str) -> Option<&'static str> {
    let name = flag.split('=').next().unwrap_or(flag);
    HABITS.iter().find(|(flags, _)| flags.contains(&name)).map(|(_, hint)| *hint)
}
