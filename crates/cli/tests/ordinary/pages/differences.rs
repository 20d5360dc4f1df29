//! What the page of `pump copy` says of cp, rsync and scp: each of its differences is one.

use std::os::unix::fs::{MetadataExt, chown, lchown};
use std::os::unix::net::UnixListener;
use std::process::Command;

use crate::support::{
    Home, after, as_ordinary_user, expect, is_root, make_folder, make_symlink, noise_file, outcome, set_mode,
    set_mtime, set_xattr, xattr,
};
use crate::system::secrets::default_list;

/// What others do, as the page says it; what is typed; the status; what is said.
const ROWS: &[(&str, &str, i32, &str)] = &[
    ("cp, of a folder with a slash", "copy a/ into", 0, "a/ -> into"),
    ("rsync compares size and time", "copy --update=differs a/ a2", 0, "1 up to date"),
    ("rsync keeps silent about a name", "copy a/ a2/ into", 23, "two of the sources would get this name"),
    ("cp warns of a source", "copy f f into", 0, "'f' is given twice: copied once"),
    ("rsync removes while it copies", "copy --delete-during none a/ into", 23, "nothing was removed"),
    ("rsync --delete empties", "mirror empty/ a2", 1, "--max-delete"),
    ("rsync warns of a --link-dest", "copy --update --link-dest=none a/ new", 2, "--link-dest 'none'"),
    ("rsync --inplace takes trees", "copy --inplace a new", 2, "single files"),
    ("rsync -i shows", "copy -i a/ new", 0, ">f+++++++++ x"),
    ("rsync -i shows", "copy -i a b into", 0, ">f+++++++++ a/x"),
    ("rsync -i says nothing of what", "copy -i --link-dest=a2 a/ new", 0, "hf+++++++++ x"),
    ("rsync --relative follows a link", "copy --relative to-a/x new", 2, "is a symbolic link"),
    ("rsync --chmod g=o", "copy --chmod=g=o f new", 2, "name them, as in g=rX"),
    ("cp -L and rsync -L follow a link", "copy -L --exclude socket a/ into", 23, "which this copy replaces"),
    ("rsync -D copies sockets", "copy a/ new", 0, "is a socket"),
    ("rsync --devices keeps device nodes", "copy --write-devices f new", 2, "--devices reads and writes"),
    ("cp -f replaces a link", "copy f loop", 1, "Too many levels of symbolic links"),
    ("cp -i asks", "copy -n f new", 0, "dry run: nothing was copied"),
    ("scp -i names a key", "copy -i key host:", 2, "is a private key, and -i itemizes"),
    ("cp -r copies a link that is named", "copy -r link new", 0, "link -> new: 100 B"),
    ("rsync begins a name", "copy --files-from=list a/ new", 2, "has '/./' in it"),
    ("rsync --delete goes with", "copy --relative --delete a/x new", 2, "--delete"),
    ("rsync --delete goes with", "copy --remove-source-files --delete a/ new", 2, "--delete"),
    ("rsync --files-from takes ..", "copy --files-from=up a/ new", 2, "has '..' in it"),
    ("rsync -0 --files-from passes over", "copy -0 --files-from=hash a/ new", 23, "a/;no': No such file"),
    ("rsync --max-delete 2", "copy --delete --max-delete=0 a/ b", 1, "none is, and all the rest was copied"),
    ("rsync --inplace --sparse", "copy --inplace --sparse=always f into/x", 2, "holes in a new file"),
    ("rsync --inplace goes with -u", "copy --inplace -u f into/x", 2, "would be left half written"),
    ("rsync --modify-window goes", "copy --modify-window=2s f new", 2, "add --update"),
    ("rsync copies backups to", "copy --backup-dir=/proc/none f into/x", 2, "not on the file system"),
    ("rsync's filter rules", "copy --filter=-!_x a/ new", 2, "only s and r"),
    ("rsync's filter rules", "copy --filter=hide,!_x a/ new", 2, "only s and r"),
    ("rsync's filter rules", "copy --filter=-C a/ new", 2, "write for example"),
    ("rsync's filter rules", "copy --filter=merge,-_list a/ new", 2, "takes no letters"),
    ("rsync's filter rules", "copy --filter=dir-merge_list a/ new", 2, "from folders that are copied"),
    ("rsync's filter rules", "copy --filter=._rules a/ new", 2, "read no further file"),
    ("rsync -z,", "copy -z f new", 2, "-z"),
];

fn home() -> (Home, UnixListener) {
    let home = Home::new();
    for folder in ["a", "a2", "b", "empty", "into"] {
        make_folder(&home, folder);
    }
    for file in ["a/x", "a2/x", "f"] {
        noise_file(&home, file, 100, 1);
        set_mtime(&home.path(file), 1_000_000_000_000_000_000);
    }
    noise_file(&home, "b/y", 10, 2);
    make_symlink(&home, "loop", "loop");
    make_symlink(&home, "f", "link");
    make_symlink(&home, "a", "to-a");
    make_symlink(&home, "../into/x", "a/leads-there");
    noise_file(&home, "into/x", 10, 3);
    for (list, content) in [("list", "d/./x\n"), ("up", "../f\n"), ("hash", ";no\0"), ("rules", ". list\n")] {
        std::fs::write(home.path(list), content).expect("room");
    }
    std::fs::write(home.path("key"), "-----BEGIN OPENSSH PRIVATE KEY-----\n").expect("room");
    let socket = UnixListener::bind(home.path("a/socket")).expect("room");
    (home, socket)
}

fn page() -> String {
    Home::new().pump(&["man", "copy"]).out.replace("\\-", "-").replace("\\*(Aq", "'")
}

#[test]
fn what_the_page_says_of_others_is_so() {
    let page = page();
    for (others, words, status, said) in ROWS {
        assert!(page.contains(others), "the page does not say {others:?}");
        let (home, _socket) = home();
        let run = home.pump(&words.split(' ').collect::<Vec<_>>());
        expect(&run, *status, &[said], words);
    }
}

#[test]
fn attributes_are_kept_and_other_links_keep_what_they_had() {
    let (home, _socket) = home();
    let old = std::fs::read(home.path("b/y")).expect("it was made");
    std::fs::hard_link(home.path("b/y"), home.path("b/z")).expect("room");
    expect(&home.pump(&["copy", "f", "b/y"]), 0, &[], "over a name of two");
    assert_eq!(std::fs::read(home.path("b/z")).expect("it stands"), old);
    assert_eq!(home.path("b/y").metadata().expect("it stands").mtime(), 1_000_000_000);
}

/// Another user and group than root's.
const OTHER: u32 = 65_534;

/// Runs cp, or pump, with the umask 077.
fn run(home: &Home, line: &str) {
    let words: Vec<&str> = line.split(' ').collect();
    let command = match words.split_first() {
        Some((&"cp", rest)) => {
            let mut command = Command::new("sh");
            command.args(["-c", "umask 077; exec cp \"$@\"", "cp"]).args(rest).current_dir(home.path(""));
            command
        }
        _ => after(home, "umask 077", &words),
    };
    expect(&outcome(command, b""), 0, &[], line);
}

/// Mode, user and group.
fn facts(home: &Home, name: &str) -> (u32, u32, u32) {
    let meta = home.path(name).metadata().expect("it is there");
    (meta.mode() & 0o7777, meta.uid(), meta.gid())
}

#[test]
fn a_file_that_is_replaced_gets_mode_and_owner_of_the_source() {
    assert!(page().contains("cp without -p leaves an existing file its mode and owner"));
    for (line, becomes_sources) in [
        ("copy from to", true),
        ("copy --no-preserve=mode,ownership from to", false),
        ("cp from to", false),
        ("cp -p from to", true),
    ] {
        let home = Home::new();
        for (name, mode) in [("from", 0o640), ("to", 0o604)] {
            noise_file(&home, name, 100, u64::from(mode));
            set_mode(&home.path(name), mode);
        }
        if is_root() {
            chown(home.path("to"), Some(OTHER), Some(OTHER)).expect("root");
        }
        let [source, old] = ["from", "to"].map(|name| facts(&home, name));
        run(&home, line);
        assert_eq!(facts(&home, "to"), if becomes_sources { source } else { old }, "{line}");
    }
}

#[test]
fn a_set_group_id_folder_hands_nothing_down_to_a_copy() {
    assert!(page().contains("cp -r gives new names in a set-group-ID folder its group"));
    for (line, is_handed_down) in [
        ("copy tree shared", false),
        ("copy --no-preserve=mode,ownership tree shared", true),
        ("cp -r tree shared", true),
    ] {
        let home = Home::new();
        for folder in ["tree", "shared"] {
            make_folder(&home, folder);
        }
        noise_file(&home, "tree/file", 100, 1);
        if is_root() {
            chown(home.path("shared"), None, Some(OTHER)).expect("root");
        }
        for (folder, mode) in [("tree", 0o755), ("shared", 0o2755)] {
            set_mode(&home.path(folder), mode);
        }
        run(&home, line);
        let group = facts(&home, if is_handed_down { "shared" } else { "tree" }).2;
        let found = ["shared/tree", "shared/tree/file"].map(|name| facts(&home, name));
        assert_eq!(found.map(|facts| facts.2), [group; 2], "{line}");
        assert_eq!(found[0].0 & 0o2000 != 0, is_handed_down, "{line}: {:o}", found[0].0);
    }
}

#[test]
fn neither_the_umask_nor_a_default_list_has_a_say_in_a_copy() {
    assert!(page().contains("cp without -p gives new names what the folder's default access control list"));
    for (words, has_a_say) in [("copy", false), ("copy --no-preserve=mode", true), ("cp", true)] {
        let home = Home::new();
        noise_file(&home, "from", 100, 1);
        set_mode(&home.path("from"), 0o644);
        run(&home, &format!("{words} from new"));
        assert_eq!(facts(&home, "new").0, if has_a_say { 0o600 } else { 0o644 }, "{words}");
        make_folder(&home, "listed");
        if set_xattr(&home.path("listed"), "system.posix_acl_default", &default_list()) {
            run(&home, &format!("{words} from listed"));
            let list = xattr(&home.path("listed/from"), "system.posix_acl_access");
            assert_eq!(list.is_some(), has_a_say, "{words}: a list of the folder's");
        }
    }
}

#[test]
fn modes_are_set_as_chmod_and_cp_set_them() {
    let page = page();
    for (others, mode, flag, becomes) in [
        ("cp without -p and rsync without -p give", 0o600, "--no-preserve=mode", 0o644),
        ("rsync --chmod u=rwX keeps the set-user-ID bit", 0o4755, "--chmod=u=rwX", 0o755),
    ] {
        assert!(page.contains(others), "the page does not say {others:?}");
        let home = Home::new();
        noise_file(&home, "from", 100, 1);
        set_mode(&home.path("from"), mode);
        expect(&outcome(after(&home, "umask 022", &["copy", flag, "from", "new"]), b""), 0, &[], flag);
        assert_eq!(facts(&home, "new").0, becomes, "{flag}");
    }
}

#[test]
fn what_is_in_the_way_of_a_backup_stays_and_what_is_in_a_protected_folder() {
    let page = page();
    let backups = "rsync --backup-dir removes a folder that has a backup's name, and a file where";
    for (others, laid, words, stay) in [
        (backups, ["old/x/in", "into/x"], "--backup-dir=../old", ["old/x/in", "old/x.~1~"]),
        (backups, ["old/sub", "into/sub/z"], "--backup-dir=../old", ["old/sub.~1~", "old/sub/z"]),
        (
            "rsync's P, of a folder",
            ["into/sub/gone", "f"],
            "--filter=P /sub",
            ["into/sub/gone", "into/sub/z"],
        ),
    ] {
        assert!(page.contains(others), "the page does not say {others:?}");
        let (home, _socket) = home();
        make_folder(&home, "a/sub");
        noise_file(&home, "a/sub/z", 30, 5);
        for name in laid {
            let folder = home.path(name).parent().map(std::path::Path::to_path_buf).expect("it has one");
            std::fs::create_dir_all(folder).expect("room");
            noise_file(&home, name, 20, 6);
        }
        expect(&home.pump(&["copy", "--delete", words, "a/", "into"]), 0, &[], words);
        for name in stay {
            assert!(home.path(name).is_file(), "{words}: {name}");
        }
    }
}

#[test]
fn backups_are_kept_where_rsync_keeps_none() {
    let page = page();
    for (others, words, kept) in [
        (
            "rsync --delete --backup removes backups that a rule puts at risk",
            &["--backup", "--delete", "--filter", "R *~"][..],
            ["old~", "gone~"],
        ),
        (
            "rsync --safe-links --backup replaces a link at the target that leads out",
            &["--backup", "--safe-links"],
            ["old~", "x~"],
        ),
    ] {
        assert!(page.contains(others), "the page does not say {others:?}");
        let (home, _socket) = home();
        for name in ["b/old~", "b/gone"] {
            noise_file(&home, name, 10, 4);
        }
        make_symlink(&home, "/etc/hosts", "b/x");
        expect(&home.pump(&[&["copy"], words, &["a2/", "b"]].concat()), 0, &[], others);
        for name in kept {
            assert!(home.path("b").join(name).symlink_metadata().is_ok(), "{others}: {name}");
        }
    }
}

#[test]
fn a_target_behind_the_link_of_another_user_is_written_and_backups_there_are_not() {
    assert!(page().contains("named through the symbolic link of another user"));
    if !is_root() {
        return;
    }
    for (words, status) in [
        (&["a2/", "theirs"][..], 0),
        (&["a2/", "theirs/"], 0),
        (&["f", "theirs/"], 0),
        (&["--files-from", "their-list", "a2/", "new"], 0),
        (&["--exclude-from", "their-list", "a2/", "new"], 0),
        (&["--update", "--link-dest", "theirs", "a2/", "new"], 0),
        (&["--backup-dir", "../theirs", "a2/", "b"], 2),
        (&["--log-file", "theirs/log", "a2/", "new"], 2),
    ] {
        let (home, _socket) = home();
        make_symlink(&home, "into", "theirs");
        std::fs::write(home.path("names"), "x\n").expect("room");
        make_symlink(&home, "names", "their-list");
        for link in ["theirs", "their-list"] {
            lchown(home.path(link), Some(OTHER), Some(OTHER)).expect("root");
        }
        expect(&home.pump(&[&["copy"], words].concat()), status, &[], &words.join(" "));
    }
}

#[test]
fn a_folder_that_may_not_be_read_is_told_and_neither_made_nor_changed() {
    assert!(page().contains("make a folder that they may not read"));
    let home = Home::new();
    for folder in ["s", "s/closed", "t", "t/closed", "new"] {
        make_folder(&home, folder);
    }
    set_mode(&home.path("s/closed"), 0o300);
    [("t", 0o777), ("t/closed", 0o755), ("new", 0o777)]
        .iter()
        .for_each(|(at, mode)| set_mode(&home.path(at), *mode));
    for target in ["t", "new"] {
        let Some(run) = as_ordinary_user(&home, &["copy", "--no-preserve=ownership", "s/", target]) else {
            return;
        };
        expect(&run, 23, &["s/closed': Permission denied"], target);
    }
    assert_eq!(home.path("t/closed").metadata().expect("it was there").mode() & 0o777, 0o755);
    assert!(!home.path("new/closed").exists());
    set_mode(&home.path("s/closed"), 0o700);
}
