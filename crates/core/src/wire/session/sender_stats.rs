//! Statistics of the side that reads: what it did in a session, and its kernel's counts of the connections.
//!
//! Must not know: messages, whose turn it is.

use minicbor::{Decode, Encode};

use super::ShortText;
use crate::wire::bounds::HasCounts;

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct SenderStats {
    /// Blocks that were sent.
    #[n(0)]
    pub blocks: u64,
    /// Their bytes.
    #[n(1)]
    pub bytes: u64,
    /// Nanoseconds that the reading side waited for its disk.
    #[n(2)]
    pub source_wait_ns: Option<u64>,
    /// Nanoseconds that it waited for the network to take its bytes.
    #[n(3)]
    pub network_wait_ns: Option<u64>,
    /// Nanoseconds of CPU in user mode.
    #[n(4)]
    pub user_ns: Option<u64>,
    /// Nanoseconds of CPU in the kernel.
    #[n(5)]
    pub system_ns: Option<u64>,
    /// Nanoseconds of hashing.
    #[n(10)]
    pub hashing_ns: Option<u64>,
    /// Nanoseconds of sealing what was sent.
    #[n(11)]
    pub sealing_ns: Option<u64>,
    /// Nanoseconds that a rate limit held it back.
    #[n(12)]
    pub rate_wait_ns: Option<u64>,
    /// Nanoseconds that its lanes were there, summed over them.
    #[n(13)]
    pub lanes_ns: Option<u64>,
    /// Nanoseconds of CPU of these lanes alone.
    #[n(14)]
    pub lanes_cpu_ns: Option<u64>,
    /// What its kernel tells of the connections for blocks.
    #[n(15)]
    pub path: Option<TcpStats>,
    /// Nanoseconds of CPU by stage, in their order, where a bill was asked for. The last places are free.
    #[n(16)]
    pub spent_ns: Option<[u64; STAGES_MAX]>,
    /// Nanoseconds of CPU of its system's own threads meanwhile.
    #[n(17)]
    pub kernel_ns: Option<u64>,
    /// Nanoseconds that its lanes could have run in, and other programs had the CPU, summed over them.
    #[n(18)]
    pub not_scheduled_ns: Option<u64>,
    /// Nanoseconds that a quota of CPU time held its process back.
    #[n(19)]
    pub quota_held_ns: Option<u64>,
    /// The limit of a control group that its reads reached, and its file.
    #[n(20)]
    pub read_limit: Option<ShortText>,
    /// CPUs that its process may use.
    #[n(21)]
    pub cpus: Option<u32>,
    /// The bytes come from a program at the other end of a pipe.
    #[n(22)]
    pub reads_a_pipe: Option<bool>,
    /// Nanoseconds spent in calls about names and attributes, summed over threads.
    #[n(23)]
    pub names_ns: Option<u64>,
    /// Nanoseconds in which the CPUs of its machine can have run something, summed over them.
    #[n(24)]
    pub busy_cpus_ns: Option<u64>,
    /// Nanoseconds that its calls waited for the clock of a file system, summed over threads.
    #[n(25)]
    pub settling_ns: Option<u64>,
}

/// Room for the stages of a bill: a list that is always as long needs no other limit.
pub const STAGES_MAX: usize = 16;

/// What a kernel that sends tells of its connections (`TCP_INFO`), summed over them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct TcpStats {
    /// The longest smoothed round trip of a connection, in microseconds.
    #[n(0)]
    pub rtt_us: u64,
    /// The longest of the connections' shortest round trips, in microseconds: without the queues on the way.
    #[n(1)]
    pub min_rtt_us: u64,
    /// Segments with data that were sent, again or not.
    #[n(2)]
    pub sent_segments: u64,
    /// Segments that were sent again.
    #[n(3)]
    pub retransmitted_segments: u64,
    /// How fast data arrived most recently.
    #[n(4)]
    pub delivered_bytes_per_second: u64,
    /// Nanoseconds in which there was something to send or to be acknowledged.
    #[n(5)]
    pub busy_ns: u64,
    /// Nanoseconds of these in which the other side's window was full.
    #[n(6)]
    pub receive_window_limited_ns: u64,
    /// Nanoseconds of these in which the send buffer was too small.
    #[n(7)]
    pub send_buffer_limited_ns: u64,
    /// Bytes of the largest segment that is sent; the smallest of several connections.
    #[n(8)]
    pub segment_bytes: Option<u32>,
    /// Bytes of the largest packet that the path is known to take; the smallest of several connections.
    #[n(9)]
    pub path_mtu_bytes: Option<u32>,
    /// By how much the round trip varies, in microseconds; the most of several connections.
    #[n(10)]
    pub rtt_variation_us: Option<u32>,
    /// Its congestion control holds its rate through losses, as BBR does.
    #[n(11)]
    pub ignores_loss: Option<bool>,
}

/// The smaller of two, or the one that is known.
fn smaller(one: Option<u32>, other: Option<u32>) -> Option<u32> {
    one.into_iter().chain(other).min()
}

impl TcpStats {
    fn counts(&mut self) -> [&mut u64; 8] {
        let TcpStats {
            rtt_us,
            min_rtt_us,
            sent_segments,
            retransmitted_segments,
            delivered_bytes_per_second,
            busy_ns,
            receive_window_limited_ns,
            send_buffer_limited_ns,
            ..
        } = self;
        let [window, buffer] = [receive_window_limited_ns, send_buffer_limited_ns];
        let [sent, again] = [sent_segments, retransmitted_segments];
        [rtt_us, min_rtt_us, sent, again, delivered_bytes_per_second, busy_ns, window, buffer]
    }

    /// Both together.
    #[must_use]
    pub fn plus(&self, other: &TcpStats) -> TcpStats {
        TcpStats {
            rtt_us: self.rtt_us.max(other.rtt_us),
            min_rtt_us: self.min_rtt_us.max(other.min_rtt_us),
            sent_segments: self.sent_segments + other.sent_segments,
            retransmitted_segments: self.retransmitted_segments + other.retransmitted_segments,
            delivered_bytes_per_second: self.delivered_bytes_per_second + other.delivered_bytes_per_second,
            busy_ns: self.busy_ns + other.busy_ns,
            receive_window_limited_ns: self.receive_window_limited_ns + other.receive_window_limited_ns,
            send_buffer_limited_ns: self.send_buffer_limited_ns + other.send_buffer_limited_ns,
            segment_bytes: smaller(self.segment_bytes, other.segment_bytes),
            path_mtu_bytes: smaller(self.path_mtu_bytes, other.path_mtu_bytes),
            rtt_variation_us: self.rtt_variation_us.max(other.rtt_variation_us),
            ignores_loss: self.ignores_loss.or(other.ignores_loss),
        }
    }
}

impl HasCounts for Box<SenderStats> {
    fn counts(&mut self) -> impl Iterator<Item = &mut u64> {
        let SenderStats {
            blocks,
            bytes,
            source_wait_ns,
            network_wait_ns,
            user_ns,
            system_ns,
            hashing_ns,
            sealing_ns,
            rate_wait_ns,
            lanes_ns,
            lanes_cpu_ns,
            path,
            spent_ns,
            kernel_ns,
            not_scheduled_ns,
            quota_held_ns,
            names_ns,
            busy_cpus_ns,
            settling_ns,
            read_limit: _,
            cpus: _,
            reads_a_pipe: _,
        } = &mut **self;
        let waits = [source_wait_ns, network_wait_ns, hashing_ns, sealing_ns, rate_wait_ns];
        let others = [not_scheduled_ns, quota_held_ns, names_ns, busy_cpus_ns, settling_ns];
        let times = [user_ns, system_ns, kernel_ns, lanes_ns, lanes_cpu_ns];
        let optional = waits.into_iter().chain(times).chain(others).flatten();
        let of_path = path.iter_mut().flat_map(TcpStats::counts);
        [blocks, bytes].into_iter().chain(optional).chain(of_path).chain(spent_ns.iter_mut().flatten())
    }
}
