//! What the page of `pump copy` says of cp, rsync and scp: each of its differences is one.

use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener;

use crate::support::{Home, expect, make_folder, make_symlink, noise_file, set_mtime};

/// What others do, as the page says it; what is typed; the status; what is said.
const ROWS: &[(&str, &str, i32, &str)] = &[
    ("cp, of a folder with a slash", "copy a/ into", 0, "a/ -> into"),
    ("rsync compares size and time", "copy --update=differs a/ a2", 0, "1 up to date"),
    ("rsync mixes the contents", "copy a/ b/ into", 2, "two sources would be mixed"),
    ("cp warns of a source", "copy f f into", 2, "two of the sources would get this name"),
    ("rsync removes while it copies", "copy --delete-during none a/ into", 23, "nothing was removed"),
    ("rsync --delete empties", "mirror empty/ a2", 1, "--max-delete"),
    ("rsync warns of a --link-dest", "copy --update --link-dest=none a/ new", 2, "--link-dest 'none'"),
    ("rsync --inplace takes trees", "copy --inplace a new", 2, "single files"),
    ("rsync -i shows", "copy -i a/ new", 0, ">f+++++++++ x"),
    ("rsync -i says nothing of what", "copy -i --link-dest=a2 a/ new", 0, "hf+++++++++ x"),
    ("rsync --relative follows a link", "copy --relative to-a/x new", 2, "is a symbolic link"),
    ("rsync -D copies sockets", "copy a/ new", 0, "is a socket"),
    ("cp -f replaces a link", "copy f loop", 1, "Too many levels of symbolic links"),
    ("cp -i asks", "copy -n f new", 0, "dry run: nothing was copied"),
    ("scp -i names a key", "copy -i key host:", 2, "is a private key, and -i itemizes"),
    ("cp -r copies a link that is named", "copy -r link new", 0, "link -> new: 100 B"),
    ("rsync begins a name", "copy --files-from=list a/ new", 2, "has '/./' in it"),
    ("rsync --delete goes with", "copy --relative --delete a/x new", 2, "--delete"),
    ("rsync --delete goes with", "copy --remove-source-files --delete a/ new", 2, "--delete"),
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
    std::fs::write(home.path("list"), "d/./x\n").expect("room");
    std::fs::write(home.path("key"), "-----BEGIN OPENSSH PRIVATE KEY-----\n").expect("room");
    let socket = UnixListener::bind(home.path("a/socket")).expect("room");
    (home, socket)
}

#[test]
fn what_the_page_says_of_others_is_so() {
    let (home, _socket) = home();
    let page = home.pump(&["man", "copy"]).out.replace("\\-", "-").replace("\\*(Aq", "'");
    for (others, words, status, said) in ROWS {
        assert!(page.contains(others), "the page does not say {others:?}");
        let (home, _socket) = self::home();
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
