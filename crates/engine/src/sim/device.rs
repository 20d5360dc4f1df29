//! A simulated device: a latency that overlaps, then one channel.
//!
//! Must not know: requests, which files lie on it.

/// One simulated device. The default takes no time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// Time from posting until a request may use the channel, in picoseconds.
    pub latency_ps: u64,
    /// Bandwidth of the channel in bytes per second; 0 means that transfers take no time.
    pub bytes_per_s: u64,
    /// Posting returns only when the request is done, as for a write that makes a file longer on some systems.
    pub synchronous: bool,
}

impl Device {
    /// Time that `len` bytes occupy the channel, in picoseconds, rounded to the nearest.
    pub(super) fn service_ps(&self, len: u32) -> u64 {
        const PS_PER_S: u128 = 1_000_000_000_000;
        match u128::from(self.bytes_per_s) {
            0 => 0,
            rate => ((u128::from(len) * PS_PER_S + rate / 2) / rate) as u64,
        }
    }
}
