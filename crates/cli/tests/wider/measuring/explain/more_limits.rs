//! Limits beside disks, quotas and paths: a host whose other programs have the CPUs, the reader of a pipe, a slow server
//! on the web, a remote disk behind ssh, and trees.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::fs::OFlags;

use super::{Bench, FED_BYTES, FILE_BYTES, SLOW_BYTES_PER_SECOND, Told};
use crate::support::serving::Serving;
use crate::support::{make_fifo, outcome};
use crate::wider_parts::peer::Peer;
use crate::wider_parts::sshd::Sshd;
use crate::wider_parts::throttle::{Busy, SlowDisk, device_of};

/// Programs beside the copy on its CPU: it gets a fifth of that.
const OTHERS: usize = 4;
/// Read where nothing but a CPU is to be slow.
const FROM_MEMORY: &str = "null:2GiB";

/// `pump` on the CPU that [`Busy`] keeps busy, or beside it.
fn on_cpu(bench: &Bench, cpu: &str, words: &[&str]) -> Command {
    let inner = bench.here(words);
    let mut outer = Command::new("taskset");
    outer.args(["-c", cpu]).arg(inner.get_program()).args(inner.get_args());
    outer.current_dir(bench.home.path("")).stdin(Stdio::null());
    outer
}

pub(super) fn busy_host(bench: &Bench) -> Told {
    let _others = Busy::new(OTHERS);
    Some(bench.both(&|words| on_cpu(bench, "0", words), &["--request-size", "4KiB", FROM_MEMORY, "null:"]))
}

/// The server has the busy CPU, the client the other one; `words` have THERE for what is served.
pub(super) fn busy_server(bench: &Bench, words: &[&str]) -> Told {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        eprintln!("not tested: a busy host of two: there is one CPU");
        return None;
    }
    let _others = Busy::new(OTHERS);
    let serve = ["serve", "served", "--ticket-file", "ticket"];
    let serving = Serving::start(on_cpu(bench, "0", &serve));
    let words: Vec<String> = words.iter().map(|word| word.replace("THERE", &serving.at(""))).collect();
    let words: Vec<&str> =
        ["--ticket-file", "ticket"].into_iter().chain(words.iter().map(String::as_str)).collect();
    Some(bench.both(&|words| on_cpu(bench, "1", words), &words))
}

/// A program that reads a pipe at some MB/s.
pub(super) fn slow_reader(bench: &Bench) -> Told {
    let path = bench.home.path("drain");
    let _ = std::fs::remove_file(&path);
    make_fifo(&path);
    // Without waiting for a writer: there is none between two copies.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK;
    let fifo = rustix::fs::open(&path, flags, rustix::fs::Mode::empty()).expect("a pipe");
    let drain = Peer::start(move |stop| {
        let (mut file, mut block) = (std::fs::File::from(fifo), [0; FED_BYTES]);
        while !stop.load(Ordering::Relaxed) {
            let _ = file.read(&mut block);
            std::thread::sleep(Duration::from_millis(10));
        }
    });
    let said = bench.both(&|words| bench.here(words), &["big", "drain"]);
    drop(drain);
    Some(said)
}

/// A server on the web that gives some MB/s, from the beginning of the file.
pub(super) fn slow_store(bench: &Bench) -> Told {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a socket");
    let place = format!("http://{}/big", listener.local_addr().expect("an address"));
    let server = Peer::start(move |stop| {
        std::thread::scope(|scope| {
            while !stop.load(Ordering::Relaxed) {
                match listener.accept() {
                    Ok((stream, _)) => drop(scope.spawn(move || serve_slowly(stream))),
                    Err(_) => std::thread::sleep(Duration::from_millis(10)),
                }
            }
        });
    });
    let said = bench.both(&|words| bench.here(words), &[&place, "target"]);
    drop(server);
    Some(said)
}

fn serve_slowly(mut stream: TcpStream) {
    let _ = stream.set_nonblocking(false);
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|len| len > 0) {
        request.push(byte[0]);
    }
    let has_body = request.starts_with(b"GET");
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {FILE_BYTES}\r\nETag: \"1\"\r\nConnection: close\r\n\r\n"
    );
    let mut sent = stream.write_all(head.as_bytes());
    let blocks = if has_body { FILE_BYTES / FED_BYTES } else { 0 };
    for _ in 0..blocks {
        if sent.is_err() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
        sent = stream.write_all(&[7; FED_BYTES]);
    }
}

/// The disk of the host behind ssh is slow.
pub(super) fn slow_disk_behind_ssh(bench: &Bench) -> Told {
    let _slow = SlowDisk::new(&device_of(&bench.disk.point()), "read", SLOW_BYTES_PER_SECOND)?;
    let _ = std::fs::remove_dir_all(bench.home.path("sshd"));
    let _sshd = Sshd::new(&bench.home, None);
    let (ssh, pump) = (Sshd::ssh(&bench.home, ""), crate::support::PUMP);
    let place = format!("loop:{}", bench.disk.at("big"));
    let words = ["--ssh", &ssh, "--remote-bin", pump, &place, "target"];
    Some(bench.both(&|words| bench.here(words), &words))
}

/// A tree whose files lie on a slow disk.
pub(super) fn slow_tree(bench: &Bench) -> Told {
    let tree = bench.disk.at("tree");
    let _ = std::fs::create_dir(&tree);
    for name in 0..8 {
        let path = format!("{tree}/{name}");
        crate::wider_parts::with_content(&path, FILE_BYTES / 8, name);
    }
    crate::wider_parts::program(&["sync"]);
    let forget = || {
        for name in 0..8 {
            let file = format!("if={tree}/{name}");
            crate::wider_parts::program(&["dd", &file, "iflag=nocache", "count=0", "status=none"]);
        }
        let _ = std::fs::remove_dir_all(bench.home.path("tree"));
    };
    let _slow = SlowDisk::new(&device_of(&bench.disk.point()), "read", SLOW_BYTES_PER_SECOND)?;
    let run = |words: &[&str]| {
        forget();
        outcome(bench.here(words), b"")
    };
    let said = bench.both_run(&run, &[&tree, "tree"]);
    forget();
    Some(said)
}
