//! The studies `disks` and `disk-net`: file systems in images, settings that are put back, places of a disk, traffic
//! over a cable of their own; and what they say without root.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::running::eventually;
use crate::support::{Home, Outcome, expect, noise, outcome};
use crate::wider_parts::{Kind, Loop, Mount};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

const MIB: usize = 1 << 20;
/// The studies that this file is about.
const DISKS: [&str; 6] = ["lab", "run", "disks", "--quick", "--out", "rows.jsonl"];
const DISK_NET: [&str; 6] = ["lab", "run", "disk-net", "--quick", "--out", "rows.jsonl"];

fn message(row: &Value) -> &str {
    row["message"].as_str().unwrap_or_default()
}

/// In a user namespace nobody is root.
fn without_root(home: &Home, words: &[&str]) -> Option<Outcome> {
    let user = |words: &[&str]| {
        let mut command = Command::new("unshare");
        command.arg("--user").args(words).current_dir(home.path("")).stdin(Stdio::null());
        outcome(command, b"")
    };
    let id = user(&["id", "-u"]);
    if id.status != 0 || id.out.trim() == "0" {
        eprintln!("not tested: without root: unshare --user: {}{}", id.out, id.err);
        return None;
    }
    Some(user(&[&[crate::support::PUMP], words].concat()))
}

/// The rows say why, and reads that nobody is kept from are there.
#[test]
fn without_root_a_row_says_what_root_is_needed_for() {
    let home = Home::new();
    let only = ["--set", "readers=10", "--set", "file_system=here,ext4", "--set", "pattern=sequential"];
    let Some(run) = without_root(&home, &[&DISKS[..], &only].concat()) else { return };
    expect(&run, 23, &["only root may"], "disks");
    let rows = home.rows("rows.jsonl");
    for row in &rows {
        let is_plain = row["asked"]["file_system"] == "here" && row["asked"]["read_ahead"] == "asis";
        let is_plain = is_plain && row["asked"]["scheduler"] == "asis";
        let outcome = if is_plain { "completed" } else { "unavailable" };
        assert_eq!(row["outcome"], outcome, "{}: {}", row["asked"], message(row));
    }
    let says = |words: &str| rows.iter().any(|row| message(row).contains(words));
    assert!(says("ext4 is mounted from an image: only root may"), "{rows:?}");
    assert!(says("read_ahead_kb of "), "{rows:?}");
}

#[test]
fn without_root_a_disk_is_measured_without_traffic() {
    let home = Home::new();
    let Some(run) = without_root(&home, &DISK_NET) else { return };
    expect(&run, 23, &["a cable between two network namespaces: only root may"], "disk-net");
    for row in home.rows("rows.jsonl") {
        let outcome = if row["asked"]["mtu"] == "none" { "completed" } else { "unavailable" };
        assert_eq!(row["outcome"], outcome, "{}: {}", row["asked"], message(&row));
    }
}

/// Packets are as large as the cable lets them be, and are counted.
#[test]
fn traffic_goes_in_packets_of_the_size_that_was_asked() {
    let home = Home::new();
    let run = home.pump(&DISK_NET);
    let rows = home.rows("rows.jsonl");
    if rows.iter().any(|row| message(row).contains("no cable")) {
        return eprintln!("not tested: network namespaces: {}", run.err);
    }
    expect(&run, 0, &[], "disk-net");
    for row in &rows {
        let (packet, mtu) = (row["achieved"]["packet_bytes"].as_u64(), row["asked"]["mtu"].as_u64());
        // Most are full; answers and the ends of blocks are not.
        let is_of_size =
            packet.is_none_or(|packet| (mtu.unwrap_or(0) / 2..=mtu.unwrap_or(0) + 14).contains(&packet));
        assert!(is_of_size && packet.is_some() == mtu.is_some(), "{row}");
        assert_eq!(row["bytes"], 64 * MIB, "what was written, without the traffic");
        assert!(mtu.is_none() || row["achieved"]["traffic_bytes_per_s"].as_u64() > Some(0), "{row}");
    }
}

/// Between two blocks of the traffic.
#[test]
fn traffic_is_counted_beside_a_command_that_ends_at_once() {
    let functions = Functions::new();
    for (command, status) in [("echo done", 0), ("sh -c 'echo done; exit 3'", 3)] {
        let line = format!(". ./cable.sh; beside_traffic 9000 20MB {} {command}", crate::support::PUMP);
        let run = functions.run("loop0", &line);
        if run.err.contains("no cable") {
            return eprintln!("not tested: network namespaces: {}", run.err);
        }
        expect(&run, status, &[], command);
        let (told, output) = run.out.split_once('\n').expect("two lines");
        let told: Value = serde_json::from_str(told).expect("what was reached");
        let packet = told["packet_bytes"].as_u64().expect("a number");
        assert!((4500..=9014).contains(&packet) && output == "done\n", "{command}: {run:?}");
        assert!(told["traffic_bytes_per_s"].as_u64() > Some(0), "{command}: {told}");
    }
}

/// A program without which there is no file system of this kind.
#[test]
fn a_file_system_that_cannot_be_made_is_a_row_that_says_so() {
    let home = Home::new();
    let only = ["--set", "file_system=xfs,nofs", "--set", "pattern=random", "--set", "size=16MiB"];
    let run = home.pump(&[&DISKS[..], &only].concat());
    expect(&run, 23, &["mkfs.nofs is not installed"], "nofs");
    for row in home.rows("rows.jsonl").iter().filter(|row| row["asked"]["file_system"] == "nofs") {
        assert_eq!(row["outcome"], "unavailable", "{row}");
    }
}

/// The shell's functions as a study's command has them.
struct Functions {
    home: Home,
}

impl Functions {
    fn new() -> Functions {
        let home = Home::new();
        let folder = home.path("").display().to_string();
        let write = |name: &str, first: String| {
            let rig = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lab/src/rig");
            let text = fs::read_to_string(rig.join(name)).expect("the functions");
            fs::write(home.path(name), format!("{first}\n{text}")).expect("room");
        };
        write("host.sh", format!("HOST={folder}\nPORT_IN_HEX=0000"));
        write("disk.sh", format!(". {folder}/host.sh"));
        write("cable.sh", format!(". {folder}/disk.sh"));
        Functions { home }
    }

    /// With a loop device as the disk.
    fn command(&self, device: &str, line: &str) -> Command {
        let name = device.trim_start_matches("/dev/");
        let mut command = Command::new("sh");
        let disk = format!(". ./disk.sh\nDISK={name}\nSYS=$(readlink -e /sys/class/block/{name})\n{line}");
        command.args(["-c", &disk]).current_dir(self.home.path("")).stdin(Stdio::null());
        command
    }

    fn run(&self, device: &str, line: &str) -> Outcome {
        outcome(self.command(device, line), b"")
    }
}

/// What stands in the setting of a device.
fn setting(device: &str, name: &str) -> String {
    let path =
        PathBuf::from("/sys/class/block").join(device.trim_start_matches("/dev/")).join("queue").join(name);
    fs::read_to_string(path).expect("a setting").trim().to_owned()
}

/// A loop device stands for a disk that turns.
#[test]
fn places_of_a_disk_are_read_where_they_are_said_to_be() {
    let content = noise(10 * MIB + 4096, 3);
    let (device, functions) = (Loop::new(&content), Functions::new());
    for (place, at) in [("first", 0), ("middle", 4 * MIB), ("last", 9 * MIB)] {
        let line = format!(
            "why_no_place() {{ :; }}\nread_device() {{ cat \"$LOOP\" > read; echo \"$LOOP\" > loop; }}\n\
             read_at {place} {MIB} pump 1MiB"
        );
        expect(&functions.run(&device.device, &line), 0, &[], place);
        let read = fs::read(functions.home.path("read")).expect("it was read");
        assert!(read == content[at..at + MIB], "{place}");
        let used = fs::read_to_string(functions.home.path("loop")).expect("it was told");
        let used = used.trim().trim_start_matches("/dev/");
        // A process that looks at all devices at this moment keeps it for as long.
        eventually(&format!("{place}: {used} is gone"), || !backing(used).contains(&device.device));
    }
    let whole = format!("why_no_place() {{ :; }}\nread_at first {} pump 1MiB", 11 * MIB);
    expect(&functions.run(&device.device, &whole), 69, &["has no 11534336 bytes"], "more than there is");
    let real = functions.run(&device.device, "read_at first 4096 pump 4KiB");
    expect(&real, 69, &["position: ", "is no disk: the kernel makes it of something else"], "no place");
}

/// Read to nothing by the pump itself.
#[test]
fn the_pump_reads_a_place_of_a_disk() {
    let (device, functions) = (Loop::new(&noise(4 * MIB, 4)), Functions::new());
    let line = format!("why_no_place() {{ :; }}\nread_at last {MIB} {} 64KiB", crate::support::PUMP);
    let run = functions.run(&device.device, &line);
    expect(&run, 0, &[], "last");
    let report: Value = serde_json::from_str(run.out.trim()).expect("a report");
    assert_eq!((&report["bytes"], &report["requests"]), (&MIB.into(), &16.into()), "{report}");
}

/// However the command ends.
#[test]
fn a_setting_of_a_disk_is_put_back() {
    let (device, functions) = (Loop::new(&noise(MIB, 5)), Functions::new());
    let (device, name) = (&device.device, "read_ahead_kb");
    let before = setting(device, name);
    for (line, status) in [("true", 0), ("false", 1), ("exit 7", 7)] {
        let line = format!("set_disk {name} 64; setting {name}; {line}");
        let run = functions.run(device, &line);
        assert_eq!((run.status, run.out.trim()), (status, "64"), "{line}: {}", run.err);
        assert_eq!(setting(device, name), before, "{line}");
    }
    let line = format!("set_disk {name} 64; touch set; sleep 60 & wait $!");
    let mut child = functions.command(device, &line).spawn().expect("a shell");
    until(|| functions.home.path("set").exists());
    assert_eq!(setting(device, name), "64");
    end(&mut child);
    assert_eq!(setting(device, name), before, "ended by a signal");
    let wrong = functions.run(device, "set_disk scheduler no-such-scheduler");
    expect(&wrong, 69, &["scheduler of ", "cannot be no-such-scheduler here; it is "], "no such scheduler");
}

/// The image's file system notices late that the disk below it is full.
#[test]
fn an_image_without_room_is_told_and_not_measured() {
    let (disk, functions) = (Mount::of(Kind::Ext4, 24), Functions::new());
    let file = functions.home.path("file");
    for (mebibytes, status) in [(4, 0), (40, 69)] {
        fs::write(&file, noise(mebibytes * MIB, 6)).expect("room");
        let image = disk.at("image");
        let line = format!("make_image ext4 file {image}; on_image {image} cmp file mounted/file");
        let run = functions.run("loop0", &line);
        expect(&run, status, &[], &format!("{mebibytes} MiB"));
        let why = run.err.contains("error") || run.err.contains("No space left");
        assert_eq!(why, status != 0, "{mebibytes} MiB: {}", run.err);
        let _ = fs::remove_file(&image);
    }
    assert!(!functions.home.path("mounted/file").exists(), "nothing is mounted any more");
}

fn until(holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(60), "it hangs");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn end(child: &mut Child) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
    child.wait().expect("it was started");
}

/// A stop is sent again while what was made is put back.
#[test]
fn a_control_group_and_a_loop_device_go_also_when_a_stop_comes_again() {
    let (device, functions) = (Loop::new(&noise(4 * MIB, 5)), Functions::new());
    fs::write(functions.home.path("backing"), noise(MIB, 6)).expect("room");
    let line = "new_group blkio; new_loop backing; limit_rate write $(cat $SYS/dev) 1000000\n\
                echo $GROUP $LOOP > made; sleep 60";
    let mut command = functions.command(&device.device, line);
    let mut child = command.process_group(0).spawn().expect("a shell");
    eventually("both are made", || {
        fs::read_to_string(functions.home.path("made")).is_ok_and(|it| it.ends_with('\n'))
    });
    let made = fs::read_to_string(functions.home.path("made")).expect("they are");
    let (group, device) = made.trim().split_once(' ').expect("a group and a device");
    assert!(Path::new(group).exists() && backing(device).contains("backing"), "{made}");
    let shell = Pid::from_child(&child);
    let mut ended = None;
    eventually("it ends", || {
        let _ = kill_process_group(shell, Signal::TERM);
        ended = child.try_wait().expect("it is ours");
        ended.is_some()
    });
    assert_eq!(ended.and_then(|status| status.code()), Some(143));
    assert!(!Path::new(group).exists(), "{group} is left");
    assert!(!backing(device).contains("backing"), "{device} is left");
}

/// The file behind a loop device; nothing where there is none.
fn backing(device: &str) -> String {
    let name = device.trim_start_matches("/dev/");
    fs::read_to_string(format!("/sys/block/{name}/loop/backing_file")).unwrap_or_default()
}
