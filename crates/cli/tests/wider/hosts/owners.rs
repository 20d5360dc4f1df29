//! Owners between two hosts that know the same people by other numbers: two mount namespaces with a passwd(5) and a
//! group(5) of their own. Needs root.

use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::programs::script;
use crate::support::serving::Serving;
use crate::support::{Home, Outcome, PUMP, expect, is_root, make_folder, outcome, set_xattr, xattr};
use crate::wider_parts::sshd::Sshd;

const ACL: &str = "system.posix_acl_access";
const ANN: u32 = 4001;
const BOB: u32 = 4002;
const CAROL: u32 = 4003;
const NO_NAME: u32 = 4999;
const CREW: u32 = 4101;
const CLUB: u32 = 4102;

/// What the other host has for the numbers of this one: Ann and Bob, and their groups, have changed places. Carol is
/// not known there, and root is called otherwise.
fn there(id: u32) -> u32 {
    match id {
        ANN => BOB,
        BOB => ANN,
        CREW => CLUB,
        CLUB => CREW,
        id => id,
    }
}

/// A script that runs the pump on a host of this name, with these lines in passwd(5) and group(5).
fn host(home: &Home, name: &str, users: &[(&str, u32)], groups: &[(&str, u32)]) -> PathBuf {
    let [passwd, group] = ["passwd", "group"].map(|file| home.path(format!("{name}.{file}")));
    let of_user = |(user, id): &(&str, u32)| format!("{user}:x:{id}:{id}::/root:/bin/sh\n");
    let of_group = |(group, id): &(&str, u32)| format!("{group}:x:{id}:\n");
    std::fs::write(&passwd, users.iter().map(of_user).collect::<String>()).expect("room");
    std::fs::write(&group, groups.iter().map(of_group).collect::<String>()).expect("room");
    let (passwd, group) = (passwd.display(), group.display());
    let mounts = format!("mount --bind {passwd} /etc/passwd && mount --bind {group} /etc/group");
    let path = home.path(name);
    script(&path, &format!("exec unshare -m sh -c '{mounts} && exec \"$@\"' sh {PUMP} \"$@\""));
    path
}

/// Two hosts: `here` and `there`.
fn hosts(home: &Home) -> [PathBuf; 2] {
    let [root, carol] = [("root", 0), ("carol", CAROL)];
    let here = host(
        home,
        "here",
        &[root, ("ann", ANN), ("bob", BOB), carol],
        &[("root", 0), ("crew", CREW), ("club", CLUB)],
    );
    // A user who is called root there is not the root of here, to whom the number 0 goes.
    let users = [("toor", 0), ("bob", there(BOB)), ("ann", there(ANN))];
    let groups = [("wheel", 0), ("club", there(CLUB)), ("crew", there(CREW))];
    [here, host(home, "there", &users, &groups)]
}

fn command(home: &Home, program: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(words).current_dir(home.path(""));
    command
}

fn run(home: &Home, program: &Path, words: &[&str]) -> Outcome {
    outcome(command(home, program, words), b"")
}

/// `u::rwx,u:ann:rwx,u:bob:r,g::-,g:crew:x,m::rwx,o::-`, and without names.
fn acl(map: fn(u32) -> u32) -> Vec<u8> {
    const NONE: u32 = u32::MAX;
    let mut entries: Vec<(u16, u16, u32)> = vec![
        (1, 7, NONE),
        (2, 7, map(ANN)),
        (2, 4, map(BOB)),
        (2, 6, map(NO_NAME)),
        (4, 0, NONE),
        (8, 1, map(CREW)),
        (8, 2, map(CLUB)),
        (0x10, 7, NONE),
        (0x20, 0, NONE),
    ];
    entries.sort_by_key(|&(tag, _, id)| (tag, id));
    let of_entry = |&(tag, bits, id): &(u16, u16, u32)| {
        [&tag.to_le_bytes()[..], &bits.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    [2u32.to_le_bytes().to_vec(), entries.iter().flat_map(of_entry).collect()].concat()
}

const OWNERS: [(&str, u32, u32); 6] = [
    ("folder", BOB, CREW),
    ("folder/ann", ANN, CREW),
    ("folder/bob", BOB, CLUB),
    ("carol", CAROL, 0),
    ("root", 0, 0),
    ("no name", NO_NAME, NO_NAME),
];

fn make(home: &Home, tree: &str) {
    ["", "/folder"].iter().for_each(|name| make_folder(home, &format!("{tree}{name}")));
    for (name, user, group) in OWNERS {
        let path = home.path(tree).join(name);
        if name != "folder" {
            std::fs::write(&path, name).expect("room");
        }
        chown(&path, Some(user), Some(group)).expect("root may");
    }
    let link = home.path(tree).join("link");
    std::os::unix::fs::symlink("away", &link).expect("room");
    std::os::unix::fs::lchown(&link, Some(ANN), Some(CLUB)).expect("root may");
    // Larger than what comes in one piece with its attributes.
    std::fs::write(home.path(tree).join("large"), vec![1; 3 << 20]).expect("room");
    chown(home.path(tree).join("large"), Some(BOB), Some(CLUB)).expect("root may");
    for name in ["folder", "folder/ann", "large"] {
        assert!(set_xattr(&home.path(tree).join(name), ACL, &acl(|id| id)), "lists are kept here");
    }
}

fn has_owners(tree: &Path, map: fn(u32) -> u32, row: &str) {
    for (name, user, group) in OWNERS.into_iter().chain([("link", ANN, CLUB), ("large", BOB, CLUB)]) {
        let meta = tree.join(name).symlink_metadata().expect("it was copied");
        assert_eq!((meta.uid(), meta.gid()), (map(user), map(group)), "{row}: {name}");
    }
    for name in ["folder", "folder/ann", "large"] {
        assert_eq!(xattr(&tree.join(name), ACL), Some(acl(map)), "{row}: {name}");
    }
}

/// Push and pull, by name and by number; the same again changes nothing, and a comparison finds nothing.
fn there_and_back(home: &Home, here: &Path, words: &[&str], served: &Path, at: &dyn Fn(&str) -> String) {
    let copy = |more: &[&str], row: &str| {
        let words = [&["copy", "-T", "--update", "-i"][..], words, more].concat();
        let done = run(home, here, &words);
        expect(&done, 0, &[], row);
        done
    };
    for (names, options, map) in
        [("names", &[][..], there as fn(u32) -> u32), ("numbers", &["--numeric-ids"], |id| id)]
    {
        let (far, back) = (at(names), format!("back-{names}"));
        copy(&[options, &["tree", &far]].concat(), names);
        has_owners(&served.join(names), map, &format!("{names}: pushed"));
        copy(&[options, &[&far, &back]].concat(), names);
        has_owners(&home.path(&back), |id| id, &format!("{names}: pulled"));
        for pair in [["tree", &far], [&far, "tree"]] {
            let again = copy(&[options, &pair].concat(), names);
            assert_eq!(again.out, "", "{names}: nothing is left to do: {again:?}");
        }
        let verify = [&["verify", "--attributes"][..], words, options, &[&far, "tree"]].concat();
        expect(&run(home, here, &verify), 0, &[], names);
    }
}

#[test]
fn owners_are_mapped_by_name_between_hosts_both_ways() {
    if !is_root() {
        eprintln!("left out: only root gives files to others");
        return;
    }
    let home = Home::new();
    let [here, there] = hosts(&home);
    make(&home, "tree");
    make_folder(&home, "served");
    let serving = Serving::start(command(&home, &there, &["serve", "served", "--ticket-file", "ticket"]));
    let words = ["--ticket-file", "ticket"];
    there_and_back(&home, &here, &words, &home.path("served"), &|name| serving.at(name));
}

#[test]
fn owners_are_mapped_by_name_over_ssh_both_ways() {
    if !is_root() {
        eprintln!("left out: only root gives files to others");
        return;
    }
    let home = Home::new();
    let [here, there] = hosts(&home);
    make(&home, "tree");
    let _sshd = Sshd::new(&home, None);
    let (ssh, remote_bin) = (Sshd::ssh(&home, ""), there.display().to_string());
    let words = ["--ssh", &ssh, "--remote-bin", &remote_bin];
    there_and_back(&home, &here, &words, &home.path("far"), &|name| format!("loop:{name}"));
}
