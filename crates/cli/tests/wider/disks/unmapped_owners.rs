//! A mount that has no number for this user, as idmapped ones and those of other user namespaces: what the system says
//! (EOVERFLOW) names neither. Needs root.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use crate::support::{Home, expect, make_folder, noise_file, set_mode};

const NOBODY: u32 = 65_534;

/// A file system in memory that has a number for nobody alone, by a process that keeps it.
struct OfNobody {
    process: Child,
    point: String,
}

impl OfNobody {
    fn new(home: &Home) -> OfNobody {
        make_folder(home, "point");
        for name in ["", "point"] {
            set_mode(&home.path(name), 0o755);
        }
        let point = home.path("point").display().to_string();
        let words = "mount -t tmpfs tmpfs \"$0\" && echo old > \"$0\"/old && echo ready && exec sleep 120";
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", words, &point]);
        let mut process = command.uid(NOBODY).gid(NOBODY).stdout(Stdio::piped()).spawn().expect("unshare");
        let mut ready = [0; 6];
        process.stdout.take().expect("a pipe").read_exact(&mut ready).expect("it is mounted");
        OfNobody { point: format!("/proc/{}/root{point}", process.id()), process }
    }
}

impl Drop for OfNobody {
    fn drop(&mut self) {
        self.process.kill().expect("it is ours");
        self.process.wait().expect("it ends");
    }
}

#[test]
fn a_user_that_a_mount_has_no_number_for_is_named() {
    const WHY: &str = "has no number for user 0 or group 0; run as a user that it maps, or map this one";
    let home = Home::new();
    make_folder(&home, "tree");
    make_folder(&home, "tree/sub");
    for (name, bytes) in [("tree/small", 1000), ("tree/large", 3 << 20)] {
        noise_file(&home, name, bytes, 1);
    }
    let mount = OfNobody::new(&home);
    let at = |name: &str| format!("{}/{name}", mount.point);
    for words in [
        ["copy", "tree/small", &at("small")],
        ["copy", "tree/large", &at("large")],
        ["copy", "tree", &at("new")],
        ["copy", "tree/small", &at("old")],
    ] {
        expect(&home.pump(&words), 1, &["(os error 75); this mount", WHY], &format!("{words:?}"));
    }
    expect(&home.pump(&["mirror", "tree", &at("")]), 23, &["/small'", "/sub'", WHY], "into a folder");
}
