//! The closed forms of a pipeline of two devices, in seconds, bytes and bytes per second.
//!
//! Must not know: whether the devices are real, simulated or paced.

/// One device: a request becomes eligible `latency_s` after it was posted, then occupies one serial channel for
/// its size divided by `bytes_per_s`; at most `depth` requests are posted at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelDevice {
    /// Latency of a request in seconds; latencies of different requests overlap.
    pub latency_s: f64,
    /// Bandwidth of the channel in bytes per second.
    pub bytes_per_s: f64,
    /// Requests posted at a time.
    pub depth: u32,
}

impl ModelDevice {
    fn service_s(&self, request_bytes: f64) -> f64 {
        request_bytes / self.bytes_per_s
    }

    /// When the n-th request (from 1) of this size is done, the device working alone.
    pub fn done_alone_s(&self, n: u64, request_bytes: f64) -> f64 {
        let service_s = self.service_s(request_bytes);
        let depth = u64::from(self.depth);
        if depth as f64 * service_s >= self.latency_s + service_s {
            return self.latency_s + n as f64 * service_s;
        }
        let (rounds, rest) = ((n - 1) / depth, (n - 1) % depth);
        (rounds + 1) as f64 * (self.latency_s + service_s) + rest as f64 * service_s
    }
}

/// What the slowest part of a pipeline is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bottleneck {
    /// The source's channel.
    SourceBandwidth,
    /// The source's latency, divided by its depth.
    SourceLatency,
    /// The sink's channel.
    SinkBandwidth,
    /// The sink's latency, divided by its depth.
    SinkLatency,
}

/// Time between two blocks in the steady state, in seconds, and what sets it.
pub fn cycle_time_s(source: ModelDevice, sink: ModelDevice, request_bytes: u64) -> (f64, Bottleneck) {
    let size = request_bytes as f64;
    let per_slot =
        |device: ModelDevice| (device.latency_s + device.service_s(size)) / f64::from(device.depth);
    [
        (source.service_s(size), Bottleneck::SourceBandwidth),
        (per_slot(source), Bottleneck::SourceLatency),
        (sink.service_s(size), Bottleneck::SinkBandwidth),
        (per_slot(sink), Bottleneck::SinkLatency),
    ]
    .into_iter()
    .max_by(|one, other| one.0.total_cmp(&other.0))
    .expect("four terms")
}

/// Smallest depth at which a device reaches its full bandwidth: ceil(1 + bandwidth * latency / request).
pub fn depth_needed(bytes_per_s: f64, latency_s: f64, request_bytes: u64) -> u32 {
    // 1e-9: a product that is whole in decimal may come out a rounding error above it.
    (1.0 + bytes_per_s * latency_s / request_bytes as f64 - 1e-9).ceil().max(1.0) as u32
}

/// Time to move `bytes` through the pipeline, in seconds: exact. `bytes` must not be 0.
pub fn elapsed_s(source: ModelDevice, sink: ModelDevice, bytes: u64, request_bytes: u64) -> f64 {
    let size = request_bytes as f64;
    let requests = bytes.div_ceil(request_bytes);
    let last = (bytes - (requests - 1) * request_bytes) as f64;
    let through = |n: u64| source.done_alone_s(n, size) + sink.done_alone_s(requests - n + 1, size);
    let inner = (1..requests).map(through).fold(0.0, f64::max);
    let last_read_s = source.done_alone_s(requests, size) - (size - last) / source.bytes_per_s;
    inner.max(last_read_s + sink.latency_s + sink.service_s(size)) - (size - last) / sink.bytes_per_s
}

/// A time that no run is below: that of the first block and then of the sink alone, or of the source alone and then of
/// the last block, the longer of both. `bytes` must not be 0.
pub fn elapsed_lower_bound_s(source: ModelDevice, sink: ModelDevice, bytes: u64, request_bytes: u64) -> f64 {
    let size = request_bytes as f64;
    let requests = bytes.div_ceil(request_bytes);
    let short = (requests * request_bytes - bytes) as f64;
    let first = source.done_alone_s(1, size) + sink.done_alone_s(requests, size);
    let last = source.done_alone_s(requests, size) - short / source.bytes_per_s
        + sink.latency_s
        + sink.service_s(size);
    first.max(last) - short / sink.bytes_per_s
}

/// A time that no run is above: fill, a cycle for each block but the first, drain. `bytes` must not be 0.
pub fn elapsed_upper_bound_s(source: ModelDevice, sink: ModelDevice, bytes: u64, request_bytes: u64) -> f64 {
    let size = request_bytes as f64;
    let requests = bytes.div_ceil(request_bytes);
    let last = (bytes - (requests - 1) * request_bytes) as f64;
    let (cycle_s, _) = cycle_time_s(source, sink, request_bytes);
    let fill_s = source.latency_s + source.service_s(size);
    fill_s + (requests - 1) as f64 * cycle_s + sink.latency_s + last / sink.bytes_per_s
}
