//! One of each kind in every generated tree: odd names, links, modes, times, depth, holes, devices, a socket.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use rustix::fs::{CWD, FileType, Mode, makedev};

use super::dress::{For, Kind, access_list, set, set_capability, set_times};
use super::tree::{Maker, make_sparse, name};
use crate::support::set_mode;

const LEVELS: usize = 200;
/// The longest content of a symbolic link: a page without its last byte (symlink(7), ext4).
const LINK_BYTES_MAX: usize = 4095;

/// Names as they are, without a number behind.
const EXACT_NAMES: [&[u8]; 16] = [
    b"...",
    b"....",
    b".. ",
    b"..a",
    b". ",
    b" ",
    b"-",
    b"--",
    b"-rf",
    b"\n",
    b"\x01",
    b"\xff",
    b"~",
    b"*",
    "\u{200b}".as_bytes(),
    "\u{a0}".as_bytes(),
];

pub fn make_zoo(maker: &mut Maker) {
    make_names(maker);
    make_symlinks(maker);
    make_hard_links(maker);
    make_modes(maker);
    make_deep(maker);
    make_holes(maker);
    make_lists(maker);
    make_specials(maker);
    make_folders(maker);
}

fn part(maker: &mut Maker, name: &str) -> PathBuf {
    maker.add_folder(maker.folder.join(name))
}

fn make_names(maker: &mut Maker) {
    let (files, folders) = (part(maker, "names of files"), part(maker, "names of folders"));
    let longest = [&b"l"[..], &[b'\xe4'; 254]].concat();
    for exact in EXACT_NAMES.into_iter().chain([&longest[..]]) {
        maker.add_file(files.join(name(exact)), exact.len());
        let folder = maker.add_folder(folders.join(name(exact)));
        maker.add_file(folder.join(name(exact)), 10);
    }
}

fn make_symlinks(maker: &mut Maker) {
    let folder = part(maker, "symlinks");
    maker.add_file(folder.join("file"), 100);
    let long = "x/".repeat(LINK_BYTES_MAX / 2) + "x";
    let absolute = folder.display().to_string();
    for (number, to) in
        ["file", "./file", "../symlinks", "..", ".", "/", &absolute, "nowhere", "loop", "a\nb\x1b", &long]
            .into_iter()
            .enumerate()
    {
        let path = folder.join(format!("link-{number}"));
        symlink(to, &path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        maker.add(path, Kind::Symlink);
    }
    symlink("loop", folder.join("loop")).expect("room for a link");
    set_times(&folder.join("loop"), -77, 7);
    maker.keep(folder.join("loop"));
}

/// Inside one folder, across folders, and with a name outside of the tree.
fn make_hard_links(maker: &mut Maker) {
    let (one, other) = (part(maker, "links"), part(maker, "more links"));
    for (name, bytes) in [("empty", 0), ("small", 500), ("large", 2_000_001)] {
        let file = one.join(name);
        maker.add_file(file.clone(), bytes);
        let outside = super::tree::outside_of(&maker.folder).join(name);
        for link in [one.join(format!("{name} again")), other.join(name), outside] {
            std::fs::hard_link(&file, link).expect("the same file system");
        }
    }
    let outside = super::tree::outside_of(&maker.folder).join("alone");
    maker.add_file(one.join("alone"), 321);
    std::fs::hard_link(one.join("alone"), outside).expect("the same file system");
    symlink("small", one.join("symlink")).expect("room for a link");
    std::fs::hard_link(one.join("symlink"), other.join("the same symlink")).expect("symlinks have links");
}

fn make_modes(maker: &mut Maker) {
    let folder = part(maker, "modes");
    let modes: &[u32] = match maker.audience {
        For::Root => &[0, 0o111, 0o222, 0o444, 0o777, 0o1755, 0o2755, 0o4755, 0o6755, 0o7000, 0o2644],
        For::User(_) => &[0o444, 0o644, 0o755, 0o777],
    };
    for &mode in modes {
        let path = folder.join(format!("{mode:04o}"));
        maker.add_file(path.clone(), 77);
        set_mode(&path, mode);
    }
}

fn make_deep(maker: &mut Maker) {
    let mut folder = part(maker, "deep");
    for level in 0..LEVELS {
        folder = maker.add_folder(folder.join(format!("level{level:03}")));
    }
    maker.add_file(folder.join("bottom"), 1000);
}

fn make_holes(maker: &mut Maker) {
    let folder = part(maker, "holes");
    for (number, (bytes, islands)) in [
        (1, &[][..]),
        (4096, &[]),
        (3_000_001, &[]),
        (3_000_001, &[0]),
        (1 << 20, &[(1 << 20) - 5000]),
        (9_000_000, &[1 << 20, 1 << 22]),
        (200 << 20, &[0, 70 << 20, 150 << 20]),
    ]
    .into_iter()
    .enumerate()
    {
        let path = folder.join(format!("sparse-{number}"));
        make_sparse(&path, bytes, islands);
        maker.add(path, Kind::File);
    }
}

fn make_lists(maker: &mut Maker) {
    let folder = part(maker, "lists");
    // Handed down to all that is made in it, which is then not what was asked for.
    let inheriting = maker.add_folder(folder.join("handed down"));
    set(&inheriting, "system.posix_acl_default", &access_list(0o7, 0o1));
    maker.add_file(inheriting.join("file"), 10);
    let below = maker.add_folder(inheriting.join("folder"));
    maker.add_file(below.join("file"), 10);
    for bytes in [0, 10, 70_000] {
        let path = folder.join(format!("list-{bytes}"));
        maker.add_file(path.clone(), bytes);
        set(&path, "system.posix_acl_access", &access_list(0o6, 0o4));
        set(&path, "user.colour", b"red");
        if maker.audience == For::Root {
            set_capability(&path);
        }
    }
    // An attribute of a file that may not be written once it has its mode.
    let path = folder.join("read-only with attribute");
    maker.add_file(path.clone(), 10);
    set(&path, "user.colour", b"green");
    set_mode(&path, 0o444);
}

fn make_specials(maker: &mut Maker) {
    let folder = part(maker, "specials");
    maker.add_special(folder.join("pipe"), FileType::Fifo, 0);
    if maker.audience == For::Root {
        for (name, kind, device) in [
            ("null", FileType::CharacterDevice, makedev(1, 3)),
            ("tun", FileType::CharacterDevice, makedev(10, 200)),
            ("large numbers", FileType::CharacterDevice, makedev(500, 200_000)),
            ("loop", FileType::BlockDevice, makedev(7, 200)),
        ] {
            maker.add_special(folder.join(name), kind, device);
        }
    }
    let mode = Mode::from_raw_mode(0o777);
    rustix::fs::mknodat(CWD, folder.join("a.socket"), FileType::Socket, mode, 0).expect("a socket");
}

/// Empty ones, read-only ones with content, and one in another.
fn make_folders(maker: &mut Maker) {
    let folder = part(maker, "folders");
    for mode in [0o555, 0o500, 0o755] {
        for count in 0..3 {
            let path = maker.add_folder(folder.join(format!("{mode:o} with {count}")));
            (0..count).for_each(|number| maker.add_file(path.join(format!("file-{number}")), 100));
            maker.set_last(path, mode);
        }
    }
}
