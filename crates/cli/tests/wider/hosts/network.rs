//! Two hosts joined by a cable of the suite's own: it is cut, the peer is frozen, and somebody listens on it.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::running::{Running, eventually};
use crate::support::serving::Serving;
use crate::support::{Home, expect, has_content, make_folder, noise_file, outcome};
use crate::wider_parts::judge::{is_ours, rsync_difference, same_tree, whatever_is_there_is_whole};
use crate::wider_parts::network::{Cut, Forget, INTERFACE, Network, Side};
use crate::wider_parts::tree::make_tree;
use crate::wider_parts::truth::is_run;
use rustix::process::Signal;

/// As long as the issue wants a cut to be ridden out.
const CUT: Duration = Duration::from_secs(5);

const ENTRIES: usize = 2000;
const LARGE_BYTES: usize = 256 << 20;

/// The sources of the copies, and which way they go.
const COPIES: [(&str, bool); 4] = [("tree", true), ("tree", false), ("large", true), ("large", false)];

/// The two hosts with a tree and a large file on each side.
struct Ground {
    home: Home,
    network: Network,
}

impl Ground {
    fn new() -> Option<Ground> {
        let ground = Ground { network: Network::new()?, home: Home::new() };
        make_folder(&ground.home, "served");
        make_tree(&ground.home.path("tree"), 31, ENTRIES);
        noise_file(&ground.home, "large", LARGE_BYTES, 32);
        let (from, to) = (ground.home.path(""), ground.home.path("served"));
        for name in ["tree", "tree-outside", "large"] {
            let [from, to] = [&from, &to].map(|folder| folder.join(name).display().to_string());
            if Path::new(&from).exists() {
                crate::wider_parts::program(&["cp", "--archive", &from, &to]);
            }
        }
        Some(ground)
    }

    /// The words of a copy to the server, or from it, and where it arrives.
    fn copy(&self, serving: &Serving, (what, push): (&str, bool)) -> (Vec<String>, std::path::PathBuf) {
        let (source, target, lands) = if push {
            (what.to_owned(), serving.at("new"), "served/new")
        } else {
            (serving.at(what), "new".to_owned(), "new")
        };
        let words = ["copy", "--ticket-file", "ticket", "-T"].map(String::from);
        (words.into_iter().chain([source, target]).collect(), self.home.path(lands))
    }

    /// Starts a copy and stops its client (SIGSTOP) in the middle.
    fn in_the_middle(&self, serving: &Serving, copy: (&str, bool), more: &[&str]) -> Running {
        let (words, lands) = self.copy(serving, copy);
        let words: Vec<&str> = words.iter().map(String::as_str).chain(more.iter().copied()).collect();
        let running = Running::start(self.network.pump(Side::Client, &self.home, &words));
        let folder = lands.parent().expect("it is below the home").to_owned();
        eventually("something arrives", || running.has_ended() || has_begun(&folder, &lands));
        assert!(!running.has_ended(), "{copy:?}: over before it was disturbed: {:?}", running.err());
        running.signal(Signal::STOP);
        running
    }

    /// The same command again. While the other side still holds the session that was lost, it says so.
    fn goes_on(&self, serving: &Serving, copy: (&str, bool), row: &str) {
        let (words, _) = self.copy(serving, copy);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        eventually("the session that was lost has ended", || {
            let run = outcome(self.network.pump(Side::Client, &self.home, &words), b"");
            let is_held = run.status == 1 && run.err.contains("wait for it to end");
            if !is_held {
                expect(&run, 0, &[], &format!("{row}: again"));
            }
            !is_held
        });
        self.arrived(serving, copy, row);
    }

    /// What arrived is exact, and is taken away.
    fn arrived(&self, serving: &Serving, copy: (&str, bool), row: &str) {
        let (_, lands) = self.copy(serving, copy);
        match copy.0 {
            "tree" => same_tree(&self.home.path("tree"), &lands, row),
            _ => has_content(&lands, &std::fs::read(self.home.path("large")).expect("it is there"), row),
        }
        self.forget();
    }

    fn forget(&self) {
        for folder in ["", "served"].map(|name| self.home.path(name)) {
            for entry in std::fs::read_dir(&folder).expect("the folder").flatten() {
                let path = entry.path();
                if path.ends_with("new") || is_ours(Path::new(&entry.file_name())) {
                    let path = path.display().to_string();
                    crate::wider_parts::program(&["rm", "-rf", &path]);
                }
            }
        }
    }

    /// A small copy by another client that stands on the side of the server.
    fn others_are_served(&self, serving: &Serving, row: &str) {
        noise_file(&self.home, "small", 1000, 1);
        let words = ["copy", "--ticket-file", "ticket", "small", &serving.at("small")];
        let run = outcome(self.network.pump(Side::Server, &self.home, &words), b"");
        expect(&run, 0, &[], row);
        std::fs::remove_file(self.home.path("served/small")).expect("it was copied");
    }
}

/// Something of ours stands in the folder, or in the tree that arrives.
fn has_begun(folder: &Path, lands: &Path) -> bool {
    let ours = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.into_iter().any(|entry| is_ours(Path::new(&entry.file_name())))
    };
    ours(folder) || ours(lands)
}

#[test]
fn a_cable_that_is_cut_for_five_seconds_is_ridden_out() {
    let Some(ground) = Ground::new() else { return };
    let serving = ground.network.serve(&ground.home, &["--peer-timeout", "2s"]);
    // With 2 s the session is lost and made again; with 30 s the kernel alone may carry the copy over the gap.
    let mut number = 0;
    for (timeout, copies) in [("2s", &COPIES[..]), ("30s", &COPIES[1..3])] {
        for cut in [Cut::Down, Cut::Silent] {
            for &copy in copies {
                let row = format!("{cut:?}, {copy:?}, --peer-timeout={timeout}");
                number += 1;
                if !is_run(number, &row) {
                    continue;
                }
                let running = ground.in_the_middle(&serving, copy, &["--peer-timeout", timeout]);
                ground.network.cut(cut);
                running.signal(Signal::CONT);
                // The cut is as long as this.
                std::thread::sleep(CUT);
                ground.network.mend();
                let begun = Instant::now();
                let run = running.end();
                eprintln!("{row}: ended {:.1} s after the cable was mended", begun.elapsed().as_secs_f64());
                expect(&run, 0, &[], &row);
                ground.arrived(&serving, copy, &row);
            }
        }
    }
}

#[test]
fn a_cable_that_stays_cut_ends_the_copy_and_not_the_server() {
    let Some(ground) = Ground::new() else { return };
    let serving = ground.network.serve(&ground.home, &["--peer-timeout", "2s"]);
    for cut in [Cut::Down, Cut::Silent] {
        for copy in COPIES {
            let row = format!("{cut:?}, {copy:?}");
            let more = ["--peer-timeout", "2s", "--retry-for", "3s"];
            let running = ground.in_the_middle(&serving, copy, &more);
            ground.network.cut(cut);
            let begun = Instant::now();
            running.signal(Signal::CONT);
            ground.others_are_served(&serving, &row);
            let run = running.end();
            eprintln!("{row}: gave up after {:.1} s", begun.elapsed().as_secs_f64());
            expect(&run, 10, &[], &row);
            let (_, lands) = ground.copy(&serving, copy);
            if copy.0 == "tree" && lands.exists() {
                whatever_is_there_is_whole(&ground.home.path("tree"), &lands, &row);
            }
            ground.others_are_served(&serving, &row);
            ground.network.mend();
            ground.goes_on(&serving, copy, &row);
        }
    }
}

#[test]
fn a_peer_that_is_frozen_and_comes_back_is_waited_for() {
    let Some(ground) = Ground::new() else { return };
    let serving = ground.network.serve(&ground.home, &[]);
    for copy in COPIES {
        let row = format!("{copy:?}");
        let running = ground.in_the_middle(&serving, copy, &[]);
        serving.signal("STOP");
        running.signal(Signal::CONT);
        std::thread::sleep(CUT);
        serving.signal("CONT");
        expect(&running.end(), 0, &[], &row);
        ground.arrived(&serving, copy, &row);
        // And the other way round.
        let running = ground.in_the_middle(&serving, copy, &[]);
        std::thread::sleep(CUT);
        running.signal(Signal::CONT);
        expect(&running.end(), 0, &[], &row);
        ground.arrived(&serving, copy, &row);
    }
}

#[test]
fn a_server_that_stays_frozen_is_given_up() {
    let Some(ground) = Ground::new() else { return };
    let serving = ground.network.serve(&ground.home, &["--peer-timeout", "2s"]);
    for copy in COPIES {
        let row = format!("{copy:?}");
        let more = ["--peer-timeout", "2s", "--retry-for", "3s"];
        let running = ground.in_the_middle(&serving, copy, &more);
        serving.signal("STOP");
        let begun = Instant::now();
        running.signal(Signal::CONT);
        let run = running.end();
        eprintln!("{row}: gave up after {:.1} s", begun.elapsed().as_secs_f64());
        serving.signal("CONT");
        expect(&run, 10, &[], &row);
        ground.others_are_served(&serving, &row);
        ground.goes_on(&serving, copy, &row);
    }
}

#[test]
fn a_client_that_stays_frozen_makes_room_for_another() {
    let Some(ground) = Ground::new() else { return };
    let serving = ground.network.serve(&ground.home, &["--peer-timeout", "2s", "--max-sessions", "1"]);
    for copy in COPIES {
        let row = format!("{copy:?}");
        let running = ground.in_the_middle(&serving, copy, &["--retry-for", "0s"]);
        eventually("the place of the frozen one is free", || {
            noise_file(&ground.home, "small", 1000, 1);
            let words = ["copy", "--ticket-file", "ticket", "small", &serving.at("small")];
            outcome(ground.network.pump(Side::Server, &ground.home, &words), b"").status == 0
        });
        std::fs::remove_file(ground.home.path("served/small")).expect("it was copied");
        running.signal(Signal::CONT);
        expect(&running.end(), 10, &[], &row);
        ground.goes_on(&serving, copy, &row);
    }
}

/// As a firewall does that loses its table: to one connection nothing comes any more, and the peer is alive.
#[test]
fn a_connection_that_the_path_forgets_is_noticed() {
    let Some(ground) = Ground::new() else { return };
    let serving = ground.network.serve(&ground.home, &["--peer-timeout", "2s"]);
    let server_port: u16 =
        serving.at("").rsplit([':', '/']).find_map(|part| part.parse().ok()).expect("a port");
    for number in 0..4 {
        let copy = ("large", number % 2 == 0);
        let row = format!("{copy:?}, connection {number}");
        let running = ground.in_the_middle(&serving, copy, &["--peer-timeout", "2s", "--bwlimit", "100MB/s"]);
        let ports = ground.network.connections(&ground.home, server_port);
        assert!(ports.len() > 1, "{row}: {ports:?}");
        let port = ports[number % ports.len()];
        ground.network.forget(port, Forget::Now);
        let begun = Instant::now();
        running.signal(Signal::CONT);
        let run = running.end();
        eprintln!("{row}: ended after {:.1} s", begun.elapsed().as_secs_f64());
        ground.network.forget(port, Forget::NoMore);
        expect(&run, 0, &[], &row);
        ground.arrived(&serving, copy, &row);
    }
}

const TELLTALE: &str = "telltale";

/// Files whose names and contents are easily found.
fn telltale_tree(home: &Home) {
    for folder in 0..10 {
        let path = home.path("telltale").join(format!("{TELLTALE}-folder-{folder}"));
        std::fs::create_dir_all(&path).expect("room");
        for file in 0..20 {
            let content = format!("{TELLTALE} content {folder} {file}\n").repeat(2000);
            std::fs::write(path.join(format!("{TELLTALE}-file-{file}")), content).expect("room");
        }
    }
}

/// Somebody who listens on the side of the server and writes down all that passes.
struct Listener {
    child: Child,
    file: std::path::PathBuf,
}

impl Listener {
    fn new(ground: &Network, home: &Home, name: &str) -> Listener {
        let file = home.path(name);
        let shown = file.display().to_string();
        let words = ["tshark", "-q", "-B", "64", "-i", INTERFACE, "-w", &shown];
        let mut command = ground.command(Side::Server, home, &words);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("tshark");
        let listener = Listener { child, file };
        // It writes the head of its file before it says that it listens, and hears a little later: until then the
        // cable is made to carry something.
        eventually("the listener hears", || {
            let mut ping = ground.command(Side::Client, home, &["nc", "-z", "-w", "1", "10.77.0.2", "9"]);
            let _ = ping.stderr(Stdio::null()).status();
            std::fs::metadata(&listener.file).is_ok_and(|meta| meta.len() > 1000)
        });
        listener
    }

    /// All that it heard, as bytes.
    fn heard(mut self, least: usize) -> Vec<u8> {
        eventually("all that passed is written", || {
            std::fs::metadata(&self.file).is_ok_and(|meta| meta.len() as usize >= least)
        });
        let sent = Command::new("kill").args(["-s", "INT", &self.child.id().to_string()]).status();
        assert!(sent.expect("kill is installed").success());
        self.child.wait().expect("it ends");
        std::fs::read(&self.file).expect("the capture")
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn says(heard: &[u8], words: &str) -> bool {
    heard.windows(words.len()).any(|window| window == words.as_bytes())
}

#[test]
fn who_listens_on_the_cable_sees_neither_names_nor_contents() {
    let Some(network) = Network::new() else { return };
    let home = Home::new();
    make_folder(&home, "served");
    telltale_tree(&home);
    let bytes = 10 * 20 * 2000 * "telltale content 0 0\n".len();

    // Data that are sent in the open are found: the judge can see.
    let listener = Listener::new(&network, &home, "open.pcapng");
    let mut receiver = network.command(Side::Server, &home, &["nc", "-l", network.server_address(), "4000"]);
    let mut receiver = receiver.stdout(Stdio::null()).spawn().expect("nc");
    let send = "until tar -cf - telltale | nc -N 10.77.0.2 4000; do sleep 0.1; done";
    let sent = outcome(network.command(Side::Client, &home, &["sh", "-c", send]), b"");
    receiver.wait().expect("it ends");
    expect(&sent, 0, &[], "nc");
    let heard = listener.heard(bytes);
    for words in ["telltale-file-19", "telltale-folder-9", "telltale content 9 19"] {
        assert!(says(&heard, words), "the judge is blind: {words}");
    }

    let listener = Listener::new(&network, &home, "sealed.pcapng");
    let serving = network.serve(&home, &[]);
    for (source, target) in
        [("telltale".to_owned(), serving.at("there")), (serving.at("there"), "back".into())]
    {
        let words = ["copy", "--ticket-file", "ticket", &source, &target];
        expect(&outcome(network.pump(Side::Client, &home, &words), b""), 0, &[], &target);
    }
    assert_eq!(rsync_difference(&home.path("telltale"), &home.path("back"), &[]), "", "it was copied");
    let heard = listener.heard(2 * bytes);
    let ticket = std::fs::read_to_string(home.path("ticket")).expect("it is there");
    for words in [TELLTALE, "there", ticket.trim(), &ticket.trim()[10..50]] {
        assert!(!says(&heard, words), "{words} can be read on the cable");
    }
    eprintln!("{} bytes heard, nothing understood", heard.len());
}
