//! A thread of a test that is the other end of something.
//!
//! Must not know: of what.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// A thread of the test that ends when this is dropped.
pub struct Peer {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Peer {
    /// Starts it; it looks now and then whether it is to end.
    pub fn start(work: impl FnOnce(&AtomicBool) + Send + 'static) -> Peer {
        let stop = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&stop);
        Peer { stop, thread: Some(std::thread::spawn(move || work(&until))) }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
