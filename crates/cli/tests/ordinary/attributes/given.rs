//! `--chmod`, `--chown`: what copies get instead of the source's permissions and owners.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::listing::paths;
use crate::support::running::{Running, eventually};
use crate::support::two_hosts::{TwoHosts, Way};
use crate::support::{
    Home, as_ordinary_user, expect, is_root, make_fifo, make_folder, make_symlink, outcome, set_mode,
    set_xattr, xattr,
};

/// A folder with a file, a program, a pipe, a link and a folder.
fn home() -> Home {
    let home = Home::new();
    make_folder(&home, "from");
    make_folder(&home, "from/sub");
    for (name, content) in [("from/file", "content"), ("from/program", "run"), ("from/sub/empty", "")] {
        fs::write(home.path(name), content).expect("room");
    }
    fs::write(home.path("from/large"), vec![7; 3 << 20]).expect("room");
    make_fifo(&home.path("from/pipe"));
    make_symlink(&home, "file", "from/link");
    for (name, mode) in [
        ("from", 0o755),
        ("from/sub", 0o2750),
        ("from/file", 0o644),
        ("from/program", 0o4755),
        ("from/sub/empty", 0o600),
        ("from/large", 0o664),
        ("from/pipe", 0o620),
    ] {
        set_mode(&home.path(name), mode);
    }
    home
}

/// Modes below a folder, symbolic links left out.
fn modes(home: &Home, folder: &str) -> BTreeMap<String, u32> {
    let mode = |path: &std::path::Path| {
        let meta = fs::symlink_metadata(home.path(folder).join(path)).expect("it is there");
        (!meta.is_symlink()).then(|| (path.display().to_string(), meta.permissions().mode() & 0o7777))
    };
    paths(&home.path(folder)).iter().filter_map(|path| mode(path)).collect()
}

fn mode_of(home: &Home, name: &str) -> u32 {
    fs::metadata(home.path(name)).expect("it is there").permissions().mode() & 0o7777
}

const WORDS: &str = "Dg+s,Da+rX,Fu-w,Fg-w,Fug+r";

fn expected() -> BTreeMap<String, u32> {
    [
        ("", 0o2755),
        ("file", 0o444),
        ("large", 0o444),
        ("pipe", 0o440),
        ("program", 0o4555),
        ("sub", 0o2755),
        ("sub/empty", 0o440),
    ]
    .map(|(name, mode)| (name.to_string(), mode))
    .into()
}

#[test]
fn permissions_are_those_that_were_given_on_every_way() {
    let home = home();
    expect(&home.pump(&["copy", "--mkpath", "from/", "served/from"]), 0, &[], "the source to be pulled");
    for (way, to) in [(Way::Here, "here"), (Way::Pushed, "pushed"), (Way::Pulled, "pulled")] {
        let hosts = TwoHosts::new(&home, way);
        let (row, folder) = (format!("{way:?}"), &*hosts.target(to));
        let pump = |words: &[&str]| hosts.pump(&[&["copy"], words].concat(), &["from/"], to);
        let chmod = format!("--chmod={WORDS}");
        expect(&pump(&[&chmod]), 0, &[], &row);
        assert_eq!(modes(&home, folder), expected(), "{row}");
        // Nothing is left to do, and the plan says so.
        let again = pump(&["--update=differs", "-i", "-n", &chmod]);
        expect(&again, 0, &[], &row);
        assert_eq!(again.out, "", "{row}");
        // Without the flag the next run brings the source's back.
        expect(&pump(&["--update=differs"]), 0, &[], &row);
        assert_eq!(modes(&home, folder), modes(&home, "from"), "{row}");
        // And with it they are set, without a copy.
        let set = pump(&["--update=differs", "-i", &chmod]);
        expect(&set, 0, &[], &row);
        assert!(set.out.contains(".f...p..... file") && !set.out.contains(">f"), "{row}: {}", set.out);
        assert_eq!(modes(&home, folder), expected(), "{row}");
    }
}

#[test]
fn single_files_and_streams_get_them_too() {
    let home = home();
    for (line, mode) in [
        ("copy --chmod=600 from/file one", 0o600),
        ("copy --chmod=a+w --chmod=o-w from/file one", 0o664),
        ("copy --chmod=go= --inplace from/file one", 0o600),
        ("copy --chmod=Du+x from/file one", 0o644),
        ("copy --chmod=444 from/large one", 0o444),
        ("copy --chmod=640 --update=differs from/large one", 0o640),
    ] {
        expect(&home.pump(&line.split(' ').collect::<Vec<_>>()), 0, &[], line);
        assert_eq!(mode_of(&home, "one"), mode, "{line}");
    }
    let command = home.command(&["copy", "--chmod=u=rw,go=", "-", "stream"]);
    expect(&outcome(command, b"bytes"), 0, &[], "stream");
    assert_eq!(mode_of(&home, "stream"), 0o600);
}

#[test]
fn an_access_control_list_lets_in_no_more() {
    let home = home();
    // user::rw-, user:1234:rw-, group::r--, mask::rw-, other::r--
    let entries =
        [(1_u16, 6_u16, u32::MAX), (2, 6, 1234), (4, 4, u32::MAX), (0x10, 6, u32::MAX), (0x20, 4, u32::MAX)];
    let bytes = entries.iter().flat_map(|(tag, bits, id)| {
        [&tag.to_le_bytes()[..], &bits.to_le_bytes(), &id.to_le_bytes()].concat()
    });
    let list: Vec<u8> = 2_u32.to_le_bytes().into_iter().chain(bytes).collect();
    if !set_xattr(&home.path("from/file"), "system.posix_acl_access", &list) {
        return eprintln!("not run: no access control lists here");
    }
    expect(&home.pump(&["copy", "--chmod=go=", "from/", "to"]), 0, &[], "--chmod");
    assert_eq!(mode_of(&home, "to/file"), 0o600, "the mask lets in nobody");
    let kept = xattr(&home.path("to/file"), "system.posix_acl_access").expect("a list");
    assert_eq!(kept.len(), list.len(), "its entries are kept");
    let again = home.pump(&["copy", "--chmod=go=", "--update=differs", "-i", "from/", "to"]);
    expect(&again, 0, &[], "again");
    assert_eq!(again.out, "");
}

#[test]
fn a_stream_into_what_stands_is_closed_first() {
    let home = home();
    fs::write(home.path("out"), "open to all").expect("room");
    set_mode(&home.path("out"), 0o644);
    let words = ["copy", "--inplace", "--chmod=600", "--progress=always", "-", "out"];
    let mut running = Running::start(home.command(&words));
    running.send(&vec![7; 3 << 20]);
    eventually("it is closed", || mode_of(&home, "out") == 0o600);
    expect(&running.end(), 0, &[], "stream");
    assert_eq!(
        (mode_of(&home, "out"), fs::metadata(home.path("out")).expect("it is there").len()),
        (0o600, 3 << 20)
    );
}

#[test]
fn what_cannot_be_given_is_refused_before_anything_is_written() {
    let home = home();
    for (line, said) in [
        ("copy --chmod=rw from/file to", "write for example u=rwX,go-w or D755,F644"),
        ("copy --chmod=g=u from/file to", "name them, as in g=rX"),
        ("copy --chmod=999 from/file to", "no octal number up to 7777"),
        ("copy --chmod=600 --no-preserve=mode from/file to", "drop one of them"),
        ("copy --chown=0 --no-preserve=ownership from/file to", "drop one of them"),
        ("copy --chown=alice: from/file to", "write USER, USER:GROUP or :GROUP"),
        ("copy --chown=no-such-user from/file to", "there is no user 'no-such-user' on this host"),
        ("copy --chown=:no-such-group from/ to", "there is no group 'no-such-group' on this host"),
        ("copy --chmod=600 from/file null:", "leave --chmod out"),
        ("copy --chown=0 from/file -", "leave --chown out"),
    ] {
        expect(&home.pump(&line.split(' ').collect::<Vec<_>>()), 2, &[said], line);
        assert!(!home.path("to").exists(), "{line}");
    }
}

#[test]
fn owners_are_those_that_were_given() {
    if !is_root() {
        return eprintln!("not run: only root may give files away");
    }
    let home = home();
    for way in [Way::Here, Way::Pushed] {
        let hosts = TwoHosts::new(&home, way);
        let (to, folder) = (format!("{way:?}"), &*hosts.target("to"));
        let copy = ["copy", "--chown=65534:12345"];
        expect(&hosts.pump(&copy, &["from/"], "to"), 0, &[], &to);
        for path in paths(&home.path(folder)) {
            let meta = fs::symlink_metadata(home.path(folder).join(&path)).expect("it is there");
            assert_eq!((meta.uid(), meta.gid()), (65_534, 12_345), "{to} {}", path.display());
        }
        // A program of root's does not become one of somebody else's; a folder hands its group on as before.
        let modes = modes(&home, folder);
        assert_eq!((modes["program"], modes["sub"]), (0o755, 0o2750), "{to}");
        let again = hosts.pump(&[&copy[..], &["--update=differs", "-i"]].concat(), &["from/"], "to");
        expect(&again, 0, &[], &to);
        assert_eq!(again.out, "", "{to}");
    }
    let copy = ["copy", "--chown=:65534", "--chmod=u+s", "from/program", "one"];
    expect(&home.pump(&copy), 0, &[], "the group alone");
    let meta = fs::metadata(home.path("one")).expect("it is there");
    assert_eq!((meta.uid(), meta.gid(), meta.mode() & 0o7777), (0, 65_534, 0o4755));
}

#[test]
fn others_than_root_give_nothing_away() {
    let home = home();
    for (owner, said) in
        [("root", "only root may give files to 'root'"), (":root", "a member of the group 'root'")]
    {
        let Some(run) = as_ordinary_user(&home, &["copy", "--chown", owner, "from/file", "to"]) else {
            return;
        };
        expect(&run, 2, &[said], owner);
    }
}

/// From its first byte on no copy has permissions that were taken away.
#[test]
fn no_copy_is_open_before_its_mode() {
    let home = home();
    make_folder(&home, "to");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let looker = scope.spawn(|| {
            let mut seen = 0;
            while !done.load(Ordering::Relaxed) {
                let names = fs::read_dir(home.path("to")).into_iter().flatten().flatten();
                for name in names {
                    let Ok(meta) = name.metadata() else { continue };
                    assert_eq!(meta.mode() & 0o077, 0, "{:?}", name.file_name());
                    seen += 1;
                }
            }
            seen
        });
        for _ in 0..10 {
            let run = home.pump(&["copy", "--chmod=go=", "from/large", "from/program", "from/file", "to/"]);
            expect(&run, 0, &[], "copy");
        }
        done.store(true, Ordering::Relaxed);
        assert!(looker.join().expect("it ends") > 0);
    });
}
