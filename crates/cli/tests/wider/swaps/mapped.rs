//! A source that another program has mapped and stores into while it is copied.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use crate::support::running::Running;
use crate::support::serving::Serving;
use crate::support::{Home, expect, noise};
use crate::wider_parts::{Kind, Mount, leftovers, pump_command, with_content};

const BYTES: usize = 8 << 20;

/// Maps a file and stores into each of its pages: all of them are dirty and may be stored to again without a fault. A
/// line makes it do so once more.
const MAPPER: &str = "
import mmap, sys
file = open(sys.argv[1], 'r+b')
pages = mmap.mmap(file.fileno(), 0)
for value in (1, 2):
    for at in range(0, len(pages), 4096):
        pages[at] = value
    print('stored', flush=True)
    sys.stdin.readline()
";

struct Mapper {
    child: Child,
}

impl Mapper {
    fn of(path: &str) -> Mapper {
        let mut command = Command::new("python3");
        command.args(["-c", MAPPER, path]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut mapper = Mapper { child: command.spawn().expect("`cargo xtask wider` installs python3") };
        mapper.await_stored();
        mapper
    }

    fn await_stored(&mut self) {
        let mut byte_by_byte = BufReader::with_capacity(1, self.child.stdout.as_mut().expect("a pipe"));
        let mut line = String::new();
        byte_by_byte.read_line(&mut line).expect("it says so");
        assert_eq!(line, "stored\n");
    }

    fn store_again(&mut self) {
        self.child.stdin.as_mut().expect("a pipe").write_all(b"\n").expect("it reads");
        self.await_stored();
    }
}

impl Drop for Mapper {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Stores into a mapped source in the middle of a copy by these words; tells how that ended.
fn torn(home: &Home, mount: &Mount, words: &[&str]) {
    for seconds in [2, 8, 32] {
        let old = with_content(&mount.at("target"), 1000, 7);
        with_content(&mount.at("from/source"), BYTES, 8);
        let mut mapper = Mapper::of(&mount.at("from/source"));
        let before = std::fs::read(mount.at("from/source")).expect("it was made");
        let limit = format!("--bwlimit={}B", BYTES / seconds);
        let flags = ["copy", "--reflink=never", "--progress=always", "--request-size=64KiB", &limit];
        let mut command = pump_command(&[&flags[..], words].concat());
        command.current_dir(home.path(""));
        let mut running = Running::start(command);
        // A store before the first byte is read is copied, and no change.
        running.await_bytes();
        mapper.store_again();
        let was_on_time = !running.has_ended();
        let ended = running.end();
        if was_on_time {
            let row = format!("{:?} {words:?}", mount.kind);
            // On a busy machine a path is taken for a long one, and all is read before the store: then that is copied.
            let copies = ["tree/source", "target"].map(|copy| std::fs::read(mount.at(copy)));
            if ended.status == 0 && copies.iter().flatten().any(|copy| *copy == before) {
                println!("{row}: all was read before the store");
                return;
            }
            assert_eq!(ended.status, 24, "{row}: {ended:?}");
            assert!(ended.err.contains("source'"), "{row}: {ended:?}");
            crate::support::has_content(mount.at("target").as_ref(), &old, &row);
            assert_eq!(leftovers(&mount.point()), [""; 0], "{row}");
            return;
        }
        let _ = std::fs::remove_dir_all(mount.at("tree"));
    }
    panic!("each copy was over before it could be disturbed");
}

/// One copy of the folder `from` or the file in it, on a file system of its own.
fn torn_on(kind: Kind, flags: &[&str], is_tree: bool, is_remote: bool) {
    let (home, mount) = (Home::new(), Mount::new(kind));
    std::fs::create_dir(mount.at("from")).expect("room");
    let (from, to) = if is_tree { ("", "tree") } else { ("source", "target") };
    if is_remote {
        let serve = ["serve", &mount.at("from"), "--ticket-file", "ticket"];
        let serving = Serving::start(home.command(&serve));
        let words = ["-T", "--ticket-file", "ticket", &serving.at(from), &mount.at(to)];
        return torn(&home, &mount, &[flags, &words].concat());
    }
    let source = mount.at(&format!("from/{from}"));
    torn(&home, &mount, &[flags, &["-T", source.trim_end_matches('/'), &mount.at(to)]].concat());
}

#[test]
fn what_is_stored_through_a_mapping_while_it_is_copied_is_noticed() {
    let rows: [(Kind, &[&str], bool, bool); 9] = [
        (Kind::Ext4, &[], false, false),
        (Kind::Ext4, &["--direct=always"], false, false),
        (Kind::Ext4, &["--sync=none", "--engine=inline"], false, false),
        (Kind::Ext4, &[], true, false),
        (Kind::Ext4, &[], false, true),
        (Kind::Ext4, &[], true, true),
        (Kind::Xfs, &[], false, false),
        (Kind::Btrfs, &[], false, false),
        (Kind::Btrfs, &[], true, false),
    ];
    std::thread::scope(|scope| {
        for (kind, flags, is_tree, is_remote) in rows {
            scope.spawn(move || torn_on(kind, flags, is_tree, is_remote));
        }
    });
}

/// Pages that are dirty, and mapped, when the copy begins are no change.
#[test]
fn a_mapped_source_that_nobody_stores_to_is_copied() {
    for kind in Kind::ALL {
        let mount = Mount::new(kind);
        with_content(&mount.at("source"), BYTES, 9);
        let _mapper = Mapper::of(&mount.at("source"));
        let mut content = noise(BYTES, 9);
        content.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
        for words in [&[][..], &["--verify"], &["--direct=always"]] {
            let row = format!("{kind:?} {words:?}");
            let run =
                crate::wider_parts::pump_with(&["copy", &mount.at("source"), &mount.at("target")], words);
            expect(&run, 0, &[], &row);
            crate::support::has_content(mount.at("target").as_ref(), &content, &row);
        }
    }
}
