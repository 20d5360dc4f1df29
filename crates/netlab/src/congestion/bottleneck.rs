//! The one narrow part of a path: segments leave it one after another, and its queue drops what it cannot hold.
//!
//! Must not know: flows, windows.

/// A link with a queue before it.
#[derive(Clone, Debug)]
pub struct QueuedLink {
    /// The time that a segment occupies the link.
    service_s: f64,
    /// The longest time that a segment may wait.
    wait_max_s: f64,
    /// When the link has sent all that it was given.
    free_s: f64,
    /// The longest wait so far.
    pub longest_wait_s: f64,
}

impl QueuedLink {
    /// For segments of one size.
    pub fn new(rate_bytes_per_s: f64, segment_bytes: f64, queue_bytes: f64) -> QueuedLink {
        let wait_max_s = queue_bytes / rate_bytes_per_s;
        QueuedLink {
            service_s: segment_bytes / rate_bytes_per_s,
            wait_max_s,
            free_s: 0.0,
            longest_wait_s: 0.0,
        }
    }

    /// How long a segment would wait now.
    pub fn wait_s(&self, now_s: f64) -> f64 {
        (self.free_s - now_s).max(0.0)
    }

    /// Takes a segment. When it has left; or, where the queue is full, when those before it have.
    pub fn take(&mut self, now_s: f64) -> Result<f64, f64> {
        let wait_s = self.wait_s(now_s);
        if wait_s > self.wait_max_s {
            return Err(self.free_s);
        }
        self.longest_wait_s = self.longest_wait_s.max(wait_s);
        self.free_s = self.free_s.max(now_s) + self.service_s;
        Ok(self.free_s)
    }
}
