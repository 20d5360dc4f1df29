//! Flags of cp, rsync, scp and dd that Datapump does not have, and what to do instead.
//!
//! Must not know: our own flags beyond their names (`opposites` looks at them).

mod commands;
mod opposites;

use clap::Command;

pub use commands::of_words;

/// Flags, and the answer to whoever types them. Letters on which cp, rsync and scp disagree come first.
const HABITS: &[(&[&str], &str)] = &[
    (&["-R"], "folders are always copied with all that is in them (cp's -R); rsync's -R is --relative"),
    (
        &["-S"],
        "the suffix of backups is --suffix (cp's -S); zeros become holes with --sparse=always (rsync's)",
    ),
    (&["-t"], "the folder to copy into is --target-directory DIR (cp's -t); times are always kept (rsync's)"),
    (
        &["-P"],
        "progress is shown on a terminal, or with --progress=always (rsync's -P; -avP is accepted); links that are \
         named stay links with -d (cp's); a port goes into --ssh 'ssh -p PORT' (scp's)",
    ),
    (&["-o"], "owners are always kept (rsync's -o); an option of ssh goes into --ssh 'ssh -o …' (scp's)"),
    (&["-J"], "a jump host goes into --ssh 'ssh -J HOST' (scp's -J); times of links are kept (rsync's)"),
    (
        &["-C"],
        "compression by ssh is --within-ssh --ssh 'ssh -C' (scp's -C); names to exclude are in --exclude-from FILE (rsync's)",
    ),
    (
        &["-l"],
        "symbolic links in folders stay links, and those that are named with -d (rsync's -l); a limit is --bwlimit \
         (scp's); hard links to the source are not made (cp's)",
    ),
    (
        &["-b"],
        "what is replaced is kept with --backup (cp's, rsync's -b); the size of a request is --request-size (dd's bs)",
    ),
    (
        &["-E", "-g", "-D", "--preserve"],
        "mode, times, owner, access control lists and extended attributes are always kept; leave it out, or see \
         --no-preserve",
    ),
    (
        &["--force", "--remove-destination"],
        "an existing target is replaced, once its copy is whole; leave it out",
    ),
    (&["--interactive"], "nothing is asked; see what would happen with -n"),
    (
        &["--partial-dir"],
        "a copy that is cut leaves the old target whole, and the same command goes on where it was; leave it out",
    ),
    (&["--delay-updates"], "each file appears whole under its name when it is; leave it out"),
    (&["--fsync"], "copies are put on stable storage unless --sync=none"),
    (
        &["--append", "--append-verify"],
        "a target is replaced as a whole, and the same command resumes a copy that was cut; leave it out",
    ),
    (&["--block-size", "--bs"], "the size of a request is --request-size, as in --request-size 1MiB"),
    (&["--no-clobber"], "what stands there stays with --ignore-existing"),
    (
        &["--temp-dir"],
        "a copy is written beside its target, under a name of its own, until it is whole; leave it out",
    ),
    (
        &["-K", "--keep-dirlinks", "--keep-directory-symlink"],
        "a symbolic link named as DST is followed, links below it are not; name the folder itself",
    ),
    (
        &["-k", "--copy-dirlinks"],
        "links inside folders stay links unless -L; copy the folder that the link leads to by its name",
    ),
    (
        &["--info"],
        "progress of the whole is shown on a terminal, or with --progress=always (rsync's --info=progress2); each file \
         is a line with -i, or an event with --json",
    ),
    (
        &["--copy-contents"],
        "a pipe that is named as SRC is read; in folders pipes and devices are copied as what they are; leave it out",
    ),
    (
        &["-j", "--jobs", "--threads", "--parallel", "--transfers"],
        "several files are moved at once anyway, by --lanes COUNT on this host and --connections COUNT between hosts",
    ),
    (
        &["--out-format", "--log-format", "--log-file-format", "--debug"],
        "each file is a line with -i (as rsync's), or an event with --json; -v says what was decided",
    ),
    (&["--list-only"], "what would be copied is shown by -n -i; a folder is listed by ls or find"),
    (
        &["--usermap", "--groupmap"],
        "owners are kept by name, or by number with --numeric-ids; there are no maps",
    ),
    (&["--copy-dest", "--compare-dest"], "--link-dest DIR hard-links files that are unchanged in DIR"),
    (
        &["--ignore-missing-args", "--delete-missing-args"],
        "a source that is missing is named and all others are copied (status 23)",
    ),
    (
        &["-m", "--prune-empty-dirs"],
        "empty folders are copied, too; to have files alone name them with --files-from",
    ),
    (
        &["-z", "--compress", "--compress-level", "--zl", "--compress-choice", "--zc", "--skip-compress"],
        "nothing is compressed on the way in this version; over a slow path try --within-ssh --ssh 'ssh -C'",
    ),
    (
        &["--fake-super"],
        "owners and devices need root at the target; run pump as root there, or pack the tree with tar",
    ),
    (&["--iconv"], "names are copied byte for byte; convert them afterwards, for example with convmv"),
    (&["-y", "--fuzzy"], "a file that differs is copied whole, whatever else stands there; leave it out"),
    (
        &["-O", "--omit-dir-times", "--omit-link-times"],
        "--no-preserve=timestamps skips all times; there is no flag for folders or links alone",
    ),
    (
        &["-I", "--ignore-times"],
        "every file is copied, whatever stands there, unless -u, -c or a mirror says otherwise; leave it out",
    ),
    (&["--no-perms", "--no-p", "--no-executability", "--no-E"], "--no-preserve=mode leaves modes out"),
    (&["--no-owner", "--no-o", "--no-group", "--no-g"], "--no-preserve=ownership leaves owner and group out"),
    (&["--no-times", "--no-t"], "--no-preserve=timestamps leaves times out"),
    (&["--no-A", "--no-acls"], "--no-preserve=acl leaves access control lists out"),
    (&["--no-X", "--no-xattrs"], "--no-preserve=xattr leaves extended attributes out"),
    (&["--no-H", "--no-hard-links"], "--no-preserve=links makes each name of a file a file of its own"),
    (
        &["--no-links", "--no-l"],
        "links in folders are copied as links; -L copies what they lead to, --safe-links skips those that lead out; to \
         skip all of them write (cd SRC && find . -mindepth 1 ! -type l -print0) | pump copy --from0 --files-from - \
         SRC/ DST (a list does not hold SRC itself: DST keeps its own mode, owner and times, and neither --delete nor \
         pump mirror takes a list); --no-preserve=links is about hard links",
    ),
    (
        &["--no-D", "--no-devices", "--no-specials"],
        "pipes of folders are copied, and devices as root; to skip them write (cd SRC && find . -mindepth 1 ! -type p \
         ! -type b ! -type c -print0) | pump copy --from0 --files-from - SRC/ DST (a list does not hold SRC itself: \
         DST keeps its own mode, owner and times, and neither --delete nor pump mirror takes a list)",
    ),
    (
        &["--write-devices", "--copy-devices"],
        "--devices reads and writes what is on block devices, as in pump copy --devices disk.img /dev/sdX",
    ),
    (
        &["--super"],
        "owners and devices are set wherever the system permits it; leave it out, and run pump as root to keep all",
    ),
    (
        &["--password-file"],
        "a ticket lets in to pump serve: --ticket-file FILE; a key of ssh goes into --ssh 'ssh -i KEY'",
    ),
    (
        &["--dirs", "--old-dirs"],
        "folders are copied with all that is in them; one without it is a line of --files-from FILE that does not end \
         with a slash (rsync's -d; pump's -d keeps links that are named, as cp's)",
    ),
    (
        &["--cvs-exclude"],
        "what CVS ignores is not known here; write the names into a file for --exclude-from FILE, or leave single ones \
         out with --exclude",
    ),
    (
        &["-M", "--remote-option"],
        "flags hold on both hosts, and there is none for the other host alone (rsync's -M); the program there is \
         --remote-bin PATH, and options of ssh go into --ssh 'ssh …' (ssh's -M)",
    ),
    (
        &["-U", "--atimes"],
        "times of access are always kept (rsync's -U); leave it out; -u in lower case is --update",
    ),
    (
        &["-N", "--crtimes"],
        "Linux lets no program set the time of creation (rsync's -N); times of access and of change are always kept; \
         leave it out; -n in lower case is a dry run",
    ),
    (
        &["--human-readable"],
        "figures for people have units (KiB, MiB) anyway, and --json has bytes; leave it out",
    ),
    (
        &["--protect-args", "--secluded-args"],
        "names reach another host as they are written, blanks too; a pattern (host:'*.log') is matched there, unless a \
         file has that very name; leave it out",
    ),
    (
        &["--preallocate"],
        "room is reserved before a file is written, unless it fits in one request, the file system compresses, \
         --no-reserve or --sparse=always is given, or --sync=none and the file has at most 64 MiB; leave it out",
    ),
    (
        &["--open-noatime"],
        "files in folders keep their time of access when they are read, where the system permits that (files of your \
         own, or as root); leave it out",
    ),
    (&["--contimeout"], "--peer-timeout sets how long to wait for a silent host, as in --peer-timeout 30s"),
    (&["-3"], "a copy between two other hosts goes through this host without a flag: pump copy A:x B:y"),
    (&["-B"], "pump asks nothing; ssh's own questions are switched off by --ssh 'ssh -o BatchMode=yes'"),
    (&["-4", "-6", "--ipv4", "--ipv6"], "the version of IP is an option of ssh: --ssh 'ssh -4' or 'ssh -6'"),
    (
        &["-F"],
        "rsync's filters of .rsync-filter files are not read: give them with --filter (rsync's -F); the configuration \
         of ssh is --ssh 'ssh -F FILE' (scp's -F)",
    ),
    (&["--version"], "pump --version prints the version"),
    (&["--port"], "a port stands in the place: pump://HOST:PORT/PATH; of ssh: --ssh 'ssh -p PORT'"),
    (&["--rsync-path"], "the program on the other host is --remote-bin PATH"),
    (&["--daemon", "--server"], "files are served by pump serve"),
    (
        &["-s"],
        "a copy is a file of its own; links instead are made by cp -s and cp -l (cp's -s); names reach another host as \
         they are written (rsync's -s)",
    ),
    (
        &["--symbolic-link", "--link"],
        "a copy is a file of its own; links instead are made by cp -s and cp -l",
    ),
    (
        &["--attributes-only"],
        "--update=differs sets attributes that differ and does not copy equal files again",
    ),
    (
        &["-Z", "--context"],
        "security contexts are extended attributes, and always kept where that is permitted",
    ),
    (
        &["--strip-trailing-slashes"],
        "DIR is the folder itself, and DIR/ what is in it; write it without the slash",
    ),
    (&["--no-compress", "--no-z"], "nothing is compressed on the way; leave it out"),
    (
        &["--no-r", "--no-recursive"],
        "folders are always copied with all that is in them; one without it is a line of --files-from FILE that does \
         not end with a slash",
    ),
    (
        &["--i-r", "--inc-recursive", "--no-i-r", "--no-inc-recursive"],
        "folders are listed while files are copied; leave it out",
    ),
    (
        &["--no-W", "--no-whole-file"],
        "a file that differs is copied whole: there is no transfer of differences; leave it out",
    ),
    (
        &["--no-partial"],
        "no partial file is visible after a cut, and the same command resumes; --no-resume starts over",
    ),
    (
        &["--no-R", "--no-relative"],
        "--relative is off unless it is given, and names of --files-from keep their paths; leave it out",
    ),
    (
        &["--no-implied-dirs"],
        "folders on the way that are there keep their mode, owner and times (--relative, --files-from); leave it out",
    ),
    (
        &["--no-h", "--no-human-readable"],
        "figures for people always have units (KiB, MiB), and --json has bytes; leave it out",
    ),
    (
        &["--ignore-errors"],
        "nothing is deleted where something could not be copied; leave it out, and mend what failed",
    ),
    (&["--munge-links"], "links in folders are copied as they are; --safe-links skips those that lead out"),
    (
        &["--stop-after", "--stop-at", "--time-limit"],
        "a limit of time is set by timeout -s INT 60m pump copy …; the same command resumes",
    ),
    (
        &["--address"],
        "the address to listen at is pump serve --listen ADDRESS:PORT; of ssh: --ssh 'ssh -b ADDRESS'",
    ),
    (
        &["--read-batch", "--write-batch", "--only-write-batch"],
        "there are no batches; run one copy for each target",
    ),
    (&["--outbuf"], "there is no choice of buffering for the output; leave it out"),
    (
        &["--checksum-choice", "--cc", "--checksum-seed"],
        "there is no choice of hashes: each is BLAKE3, without a seed; leave it out",
    ),
    (&["--protocol"], "the two hosts settle the protocol themselves; leave it out"),
    (&["--sockopts"], "buffers of sockets are --socket-buffer SIZE, congestion control is --congestion NAME"),
    (&["--blocking-io", "--no-blocking-io"], "ssh is used the same way always; leave it out"),
    (&["--stderr"], "messages go to standard error, events of --json to standard output; leave it out"),
    (&["--trust-sender"], "names that another host sends are always checked; leave it out"),
    (
        &["--old-args", "--no-old-args"],
        "names reach another host as they are written, and a pattern is quoted (host:'*.log'); leave it out",
    ),
    (&["--max-alloc"], "memory for blocks is set by --request-size, --depth and --lanes; leave it out"),
    (&["--no-motd"], "there is no message of the day; leave it out"),
];

/// Those of them that have no value, and without which the same is copied.
const IDLE: [&str; 19] = [
    "-z",
    "--compress",
    "-P",
    "-E",
    "-g",
    "--force",
    "--remove-destination",
    "--delay-updates",
    "-y",
    "--fuzzy",
    "--super",
    "-U",
    "--atimes",
    "--human-readable",
    "--protect-args",
    "--secluded-args",
    "--preallocate",
    "--no-compress",
    "--no-z",
];

/// Whether a command means the same without this flag.
pub fn is_idle(flag: &str) -> bool {
    IDLE.contains(&flag)
}

/// The answer to a flag that is not ours, if it is a habit.
pub fn hint(flag: &str) -> Option<&'static str> {
    let name = flag.split('=').next().unwrap_or(flag);
    HABITS.iter().find(|(flags, _)| flags.contains(&name)).map(|(_, hint)| *hint)
}

/// The answer to a flag that this command does not have, if there is one: habits first.
pub fn answer(command: &Command, flag: &str) -> Option<String> {
    commands::hint(command.get_name(), flag)
        .or_else(|| hint(flag))
        .map(str::to_owned)
        .or_else(|| opposites::answer(command, flag))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::{HABITS, IDLE, hint};
    use crate::args::copy::read::read;

    #[test]
    fn what_is_left_out_is_answered() {
        for (flags, answer) in HABITS {
            for flag in *flags {
                let words = ["pump", "copy", flag, "a", "b"].map(OsString::from).to_vec();
                let said = read(words).expect_err("it is not ours").to_string().replace('\n', " ");
                assert!(said.contains(answer), "{flag}: {said}");
            }
        }
    }

    #[test]
    fn an_unknown_flag_is_not_taken_for_a_file() {
        for flag in ["-j", "--nonsense"] {
            let words = ["pump", "copy", flag, "a", "b"].map(OsString::from).to_vec();
            let said = read(words).expect_err("there is none").to_string();
            assert!(said.contains(flag) && !said.contains("as a value"), "{said}");
        }
    }

    #[test]
    fn what_can_be_left_out_is_a_habit() {
        for flag in IDLE {
            assert!(hint(flag).is_some(), "{flag}");
        }
    }

    #[test]
    fn one_flag_has_one_answer() {
        let mut all: Vec<_> = HABITS.iter().flat_map(|(flags, _)| *flags).collect();
        all.sort();
        let before = all.len();
        all.dedup();
        assert_eq!(all.len(), before);
    }
}
