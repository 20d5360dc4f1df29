//! Why a copy is as slow as it is: a closed list.
//!
//! Must not know: how it is found, what helps.

use schemars::JsonSchema;
use serde::Serialize;

/// Why a copy is as slow as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// `--bwlimit`.
    RateLimit,
    /// `--bwlimit` of the server.
    ServerLimit,
    /// One device serves both ends.
    SharedDevice,
    /// The source's device.
    SourceDevice,
    /// The source is in the page cache, and is copied from there.
    PageCache,
    /// The sink's device.
    SinkDevice,
    /// A limit that a control group sets for a disk.
    GroupLimit,
    /// The program at the other end of a pipe.
    Pipe,
    /// The target was read back.
    ReadBack,
    /// The receiver's window, though its disk keeps up.
    ReceiveWindow,
    /// The sender's buffer.
    SendBuffer,
    /// The path takes no more.
    Path,
    /// A server on the web, or the path to it.
    Server,
    /// Segments are lost.
    Loss,
    /// Too little is under way for this round trip.
    RoundTrips,
    /// One of the hosts stands still.
    Peer,
    /// Encrypting.
    Encryption,
    /// Hashing.
    Hashing,
    /// The kernel copies bytes.
    Copying,
    /// A quota of CPU time.
    CpuQuota,
    /// Other programs use the CPUs.
    Busy,
    /// Requests themselves.
    PostingRequests,
    /// Names and attributes.
    Metadata,
    /// Stable storage.
    Sync,
    /// No part is slower than the others.
    Balanced,
    /// It cannot be told.
    Unknown,
}
