//! A path in a box that is there while a run goes on, between two namespaces of its own.
//!
//! Its threads are this process's: neither its time nor its CPU time is that of the command. Must not know: what goes
//! over the path, how it is laid.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;

use anyhow::{Context, bail};

use datapump_netlab::emulator::{self, BoxSettings, PathStats};

/// The path. It goes when this is dropped.
#[derive(Debug)]
pub struct LaidPath {
    settings: BoxSettings,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<anyhow::Result<PathStats>>>,
}

impl LaidPath {
    /// Lays it and waits until it is there.
    ///
    /// Errors: not root; no TUN device.
    pub fn lay(mut settings: BoxSettings, number: u64) -> anyhow::Result<LaidPath> {
        let space = |side| format!("pump-lab-{}-{number}-{side}", std::process::id());
        (settings.left.space, settings.right.space) = (space("left"), space("right"));
        let stop = Arc::new(AtomicBool::new(false));
        let (ready, is_ready) = mpsc::channel();
        let thread = {
            let (settings, stop) = (settings.clone(), Arc::clone(&stop));
            let is_there = move || ready.send(()).unwrap_or_default();
            let work = move || emulator::carry(&settings, &stop, is_there);
            std::thread::Builder::new().name("path".into()).spawn(work).context("start a thread")?
        };
        match is_ready.recv() {
            Ok(()) => Ok(LaidPath { settings, stop, thread: Some(thread) }),
            Err(mpsc::RecvError) => match thread.join() {
                Ok(Err(error)) => Err(error),
                _ => bail!("the path ended before it was there"),
            },
        }
    }
}

impl LaidPath {
    /// Ends it, and gives what went over it.
    ///
    /// Errors: it ended before, and why.
    pub fn end(mut self) -> anyhow::Result<PathStats> {
        self.stop.store(true, Ordering::Relaxed);
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(ended)) => ended,
            _ => bail!("a thread of the path panicked"),
        }
    }
}

impl Drop for LaidPath {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// The variables of path.sh for a path between namespaces.
pub fn ends_in_spaces(path: &LaidPath) -> String {
    let BoxSettings { left, right, .. } = &path.settings;
    let side = |name: &str, space: &str| format!("{name}='nsenter --net=/run/netns/{space}'\n");
    let addresses = format!("LEFT_ADDRESS={}\nRIGHT_ADDRESS={}\n", left.address, right.address);
    side("LEFT", &left.space) + &side("RIGHT", &right.space) + &addresses
}

/// The variables of path.sh for a path to another host: `folder` has the program `on`. Addresses are found by real.sh.
pub fn ends_on_hosts(name: &str, folder: &Path) -> String {
    format!("THERE='{name}'\nLEFT=\nRIGHT='sh {}/on'\n", folder.display())
}

/// The variables of path.sh for loopback.
pub fn ends_on_loopback() -> String {
    "LEFT=\nRIGHT=\nLEFT_ADDRESS=127.0.0.1\nRIGHT_ADDRESS=127.0.0.1\n".into()
}
