//! The manual's table of differences from cp, rsync and scp, with their reasons. Checked by
//! `tests/ordinary/pages/differences.rs`; lists: attributes/given.rs, pipes: content/copies.rs, two hosts: ssh/relayed.rs.
//!
//! Must not know: how a copy is made.

/// What another program does, and what this one does instead.
pub const DIFFERENCES: [(&str, &str); 49] = [
    (
        "cp without -p gives copies new times and owners, and modes cut by the umask",
        "All attributes are kept, as with cp -a, unless --no-preserve leaves some out; --chmod and --chown \
         set others.",
    ),
    (
        "cp without -p and rsync without -p give a new file the source's mode, cut by the umask",
        "Beware of --no-preserve=mode, which is cp's of that name: a new file gets 0666 cut by the umask, so that 0600 \
         becomes 0644 where that is 022. Leave it out for what others may not read.",
    ),
    (
        "rsync and cp -a make a folder that they may not read, empty, with its mode",
        "It is told (status 23) and not made. One that stands at the target stays as it is, with its own mode.",
    ),
    (
        "cp without -p leaves an existing file its mode and owner",
        "Both become the source's, as with cp -p and rsync -a; --no-preserve=mode,ownership leaves them as they were.",
    ),
    (
        "cp -r gives new names in a set-group-ID folder its group, and new folders the set-group-ID bit",
        "Group and mode are the source's, as with cp -p. The folder's group stays where this user may not give the \
         source's. --no-preserve=mode,ownership leaves both to the folder.",
    ),
    (
        "cp without -p gives new names what the folder's default access control list or the umask says",
        "Mode and list are the source's, whatever those say, as with cp -a. --no-preserve=mode leaves both to them, \
         and may open what was closed: 0600 becomes 0644 where the umask is 022.",
    ),
    (
        "cp writes into the file that stands at the target",
        "A new file takes its name when it is whole. Other hard links of the old file, and programs that have \
         it open, keep the old content. --inplace writes into it.",
    ),
    (
        "cp, of a folder with a slash at its end (GNU)",
        "SRC/ is what is in SRC, as with rsync and BSD: the same command copies to the same place again.",
    ),
    (
        "rsync compares size and time before it copies",
        "Every named file is copied. --update=differs compares size and time, to the nanosecond where rsync compares \
         whole seconds (--modify-window 1s where one side keeps less), --update as cp -u, --checksum content.",
    ),
    (
        "cp -i asks, and cp -n keeps what stands there",
        "-i itemizes and -n is a dry run, as with rsync. --ignore-existing keeps what stands there; nothing asks.",
    ),
    (
        "scp -i names a key",
        "-i itemizes. A private key that follows it is refused if another host is named; keys go into --ssh.",
    ),
    (
        "cp -r copies a link that is named as a link",
        "A link that is named is followed, unless -a or -d (--links) is given; links in a folder are copied as links, \
         unless -L is given.",
    ),
    (
        "cp refuses a target that is a hard link of its source, and a file in the place of an empty folder",
        "As with rsync the link is left alone, and the empty folder is replaced. A folder that is not empty stays \
         (status 23).",
    ),
    (
        "cp refuses a folder where a link to one stands",
        "The link is replaced by the folder, as with rsync without -K; what it led to stays.",
    ),
    (
        "rsync -a SRC/ DST gives DST the mode, owner and times of SRC",
        "So does pump. Without --delete /, your home folder and a sticky folder that all may write to, as /tmp, keep \
         their own; so does a DST that stands there with --relative and --files-from.",
    ),
    (
        "rsync begins a name of --files-from at /./",
        "Such a list is refused: give the folder before /./ as the source, and the rest in the list.",
    ),
    (
        "rsync --files-from takes .. in a name, and does not go above the source by it",
        "A list with such a name is refused (status 2).",
    ),
    (
        "rsync -0 --files-from passes over names that begin with # or ;",
        "They are copied: with -0 every entry is a name, as find -print0 wrote it.",
    ),
    (
        "rsync --delete goes with --relative and with --remove-source-files",
        "Both are refused: what a list does not name is not removed, and a move removes nothing at the target.",
    ),
    (
        "rsync keeps silent about a name that several sources have (a/ b/ into c)",
        "Folders are merged as with rsync, and the name is that of the first source. The second is reported (status 23).",
    ),
    ("cp warns of a source that is named twice", "It is copied once, with a notice (status 0)."),
    (
        "rsync removes while it copies (--delete-during), or before",
        "Names are removed at the end, and only if all was copied; before that only a folder in whose place a file is \
         to be copied, if nothing in it must stay. A folder whose names or files still change after \
         three further walks keeps its own names (status 24). A file that changes each time and has no copy at the target may \
         be one of the names that would be removed, under a new name: nothing is removed. A file that only grew, as \
         logs do, is copied as far as it was (status 24). --delete-before and the others are taken for --delete.",
    ),
    (
        "rsync --delete empties the target of an empty source",
        "pump mirror refuses it: a disk may not be mounted. --max-delete says how many names may go.",
    ),
    (
        "rsync --max-delete 2 removes two of three names, and ends with status 25",
        "None is removed if there are more (status 1); all the rest is copied.",
    ),
    (
        "rsync warns of a --link-dest that is missing",
        "It is refused (status 2): every file would be copied instead of linked. A relative folder begins \
         where the command runs, or in the home folder of the other host; not in the target.",
    ),
    (
        "rsync --inplace takes trees",
        "Only single files are written where they stand: a tree that is cut would have files of two kinds, and no \
         list of which.",
    ),
    (
        "rsync --inplace --sparse makes holes in the file that stands there",
        "--inplace --sparse=always is refused (status 2): holes are made in new files.",
    ),
    (
        "rsync --inplace goes with -u and --size-only",
        "It is refused (status 2): what a kill leaves half written is newer than its source, and may have its size; \
         the next run would leave it.",
    ),
    (
        "rsync --modify-window goes without --update, which rsync always does",
        "It is refused without --update (status 2): nothing would be compared.",
    ),
    ("rsync -i shows < for what is sent", "A file that is copied is >, wherever it comes from."),
    (
        "rsync -i says nothing of what a --link-dest has unchanged",
        "Folders are made, and told as new; files that are linked are hf.",
    ),
    (
        "rsync's P, of a folder, protects its name and not what is in it where the source has that folder",
        "It protects all that is in it, too.",
    ),
    (
        "rsync --relative follows a link on the way to a source",
        "It is refused with what to write instead: write the folder that it leads to, /./ behind the link, or -L. On \
         another host it is an error (status 23).",
    ),
    (
        "rsync --chmod changes the mode alone",
        "On a file with an access control list the mask is the group's, as chmod has it: the list never \
         allows more than the mode.",
    ),
    (
        "rsync --chmod u=rwX keeps the set-user-ID bit",
        "The bit is taken away, as chmod has it for files: = sets all bits of whom it names.",
    ),
    (
        "rsync --devices keeps device nodes",
        "So does every copy of a folder, where pump runs as root. pump's --devices reads and writes what is on block \
         devices, as rsync's --copy-devices and --write-devices.",
    ),
    (
        "rsync --delete --backup removes backups that a rule puts at risk (R *~)",
        "Names that end as this run's backups do stay, whatever a rule says.",
    ),
    (
        "rsync --backup-dir removes a folder that has a backup's name, and a file where a backup needs a folder",
        "Both stay: a backup beside such a folder is numbered (name.~1~), and such a file is renamed so.",
    ),
    (
        "rsync copies backups to a --backup-dir on another file system",
        "Refused (status 2): what has a backup is renamed, so that it is never gone. Name a folder on the \
         file system of the target.",
    ),
    (
        "rsync's filter rules may have !, /, p, C and other letters, and read files of folders (dir-merge)",
        "Only s and r may stand behind - and +. The others are refused (status 2), as are merge with letters, \
         dir-merge, and . FILE in a file of rules.",
    ),
    (
        "rsync --safe-links --backup replaces a link at the target that leads out, and keeps no backup of it",
        "It is kept as the backup, as all that is replaced.",
    ),
    (
        "rsync --chmod g=o copies permissions of others",
        "Refused (status 2): the permissions are named, as in g=rX.",
    ),
    (
        "rsync 3.5 refuses a target that is named through the symbolic link of another user, and files that flags \
         name so",
        "A target is followed, as with cp and rsync --insecure-links, as are the files of --files-from and \
         --exclude-from, and --link-dest. A --backup-dir, --log-file, --report or --tcp-trace through such a link is \
         refused (status 2).",
    ),
    (
        "cp -L and rsync -L follow a link to what the same command replaces or removes",
        "Links that lead to below the target are followed last. What the copy replaced or made by then is refused by \
         name (status 23), since its content depends on the order, and --delete does not remove what they led to.",
    ),
    ("rsync -D copies sockets", "They are left out with a line: a socket without its server is no use."),
    (
        "cp, of a named pipe",
        "A pipe that is named as a source is read to its end, as cp does without -R; in a folder it is made \
         anew. It waits for a writer.",
    ),
    (
        "cp -f replaces a link that leads to itself",
        "A target that is a link is what it leads to. One that leads nowhere is an error: nothing says what \
         was meant.",
    ),
    (
        "rsync -z, --usermap, --fake-super, --iconv and others",
        "They do not exist here; each is answered with the reason or with what to write instead.",
    ),
    (
        "scp -3 copies between two other hosts",
        "So does pump copy A:x B:y, without a flag; what is moved goes through this host.",
    ),
];
