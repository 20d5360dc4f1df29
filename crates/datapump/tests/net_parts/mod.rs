//! A served folder and its callers in one process, for the tests of two hosts.
#![allow(dead_code)]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use datapump::{
    Choice, Event, Host, Job, Options, Place, Remote, Report, ServeOptions, Server, Ticket, WayIn,
};

/// A served folder, for as long as it lives.
pub struct Served {
    pub address: String,
    pub ticket: Ticket,
    pub peer_timeout: Option<Duration>,
    pub is_insecure: bool,
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Served {
    pub fn new(options: ServeOptions) -> Served {
        let stop = Arc::new(AtomicBool::new(false));
        let is_insecure = options.insecure;
        let server = Server::bind(options, Arc::clone(&stop)).expect("a port is free");
        let (address, ticket) = (server.address().to_string(), server.ticket().clone());
        let thread = Some(std::thread::spawn(move || server.run()));
        Served { address, ticket, peer_timeout: None, is_insecure, stop, thread }
    }

    pub fn place(&self, path: &str) -> Place {
        Place::Remote(Remote { host: Host::Served(self.address.clone()), path: path.into() })
    }

    /// A copy that tries nothing twice.
    pub fn remote(&self, sources: Vec<Place>, target: Place) -> Job {
        self.let_in(Job::copy(sources, target))
    }

    /// A job that is let in, and tries nothing twice.
    pub fn let_in(&self, job: Job) -> Job {
        // Whether a handshake takes long on a loaded machine is not for a test to find out.
        let options = Options::default().with(|it| it.network.read_ahead = Choice::Never);
        let job = job.options(options).way_in(WayIn::Ticket(self.ticket.clone())).retry_for(Duration::ZERO);
        self.peer_timeout.into_iter().fold(job, Job::peer_timeout)
    }

    pub fn copy(&self, sources: Vec<Place>, target: Place, options: Options) -> (Report, Vec<String>) {
        let options = match options.network.read_ahead {
            Choice::Auto => options.with(|it| it.network.read_ahead = Choice::Never),
            _ => options,
        };
        let copy = self.remote(sources, target).options(options);
        let said = std::sync::Mutex::new(Vec::new());
        let report = copy.run_reported(&|event| match event {
            Event::Problem(problem) => said.lock().expect("no panic").push(problem.to_string()),
            Event::Warning(words) => said.lock().expect("no panic").push(words),
            _ => {}
        });
        (report, said.into_inner().expect("no panic"))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(std::thread::JoinHandle::join);
    }
}

pub fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 7u64;
    let mut byte = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    };
    (0..bytes).map(|_| byte()).collect()
}

pub fn make_tree(root: &Path) {
    for folder in ["", "empty", "sub", "sub/deeper"] {
        std::fs::create_dir(root.join(folder)).expect("room");
    }
    for (name, bytes) in
        [("zero", 0), ("one", 1), ("sub/c", 5000), ("sub/deeper/d", 300_001), ("large", 5_000_003)]
    {
        std::fs::write(root.join(name), noise(bytes)).expect("room");
    }
    for number in 0..500 {
        std::fs::write(root.join(format!("sub/file-{number}")), noise(number * 13)).expect("room");
    }
    std::os::unix::fs::symlink("sub/c", root.join("link")).expect("room");
    std::fs::hard_link(root.join("one"), root.join("sub/one again")).expect("one file system");
}
