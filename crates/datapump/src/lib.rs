//! Moves data from a source to a sink as fast as the slowest part between them allows, and says which part that is.
//!
//! ```
//! use datapump::{Job, Options, Place};
//!
//! let folder = tempfile::tempdir().unwrap();
//! let (from, to) = (folder.path().join("in.bin"), folder.path().join("out.bin"));
//! std::fs::write(&from, b"some bytes").unwrap();
//!
//! let report = Job::copy(vec![Place::Path(from)], Place::Path(to.clone())).run(&|_event| {})?;
//! assert_eq!(report.bytes, 10);
//! assert_eq!(std::fs::read(&to).unwrap(), b"some bytes");
//! println!("{}", report.sentence());
//!
//! let missing = Job::copy(vec![Place::Path("no/such/file".into())], Place::Path(to)).run(&|_event| {});
//! assert!(missing.is_err_and(|failed| failed.report.exit_status == 1));
//! # Ok::<(), datapump::JobFailed>(())
//! ```
//!
//! One [`Job`] is one move: its plan is handed to one copy loop (`datapump-core`), whose requests an engine performs
//! (`datapump-engine`). Status 0 means that every byte is at the target with its attributes, on stable storage.
//!
//! Must not know: command lines, terminals, studies.

#![forbid(unsafe_code)]

mod job;

/// The parts of a simulated [`Platform`].
pub mod simulation {
    pub use datapump_core::model;
    pub use datapump_engine::sim::{Device, Faults, Random, SimClock, SimDisk};
    pub use datapump_engine::{Errno, Peaks, os::linux::timer_slack};
    pub use datapump_mover::setup::platform::Simulation;
}

pub use datapump_core::wire::session::{HostSettings, LinkFacts, ShortText, TcpStats};
pub use datapump_core::{InWords, units};
pub use datapump_engine::CpuStage;
pub use datapump_files::followed::behind::foreign_link_on;
pub use datapump_files::withheld::withhold;
pub use datapump_transport::{
    Assembly, Host, Shell, SocketFacts, SocketOptions, SshHost, Ticket, WayIn, resolve, shown_address,
};

/// The datagrams of a session: what is agreed about them, and counted of them.
pub mod datagrams {
    pub use datapump_core::wire::datagrams::{
        DATAGRAM_BYTES_MAX, DATAGRAM_HEAD_BYTES, DATAGRAMS_LAST_MAX_NS, DATAGRAMS_MAX, DatagramCounter,
        DatagramCounts, DatagramGrant, DatagramHead, DatagramRequest, DatagramUse, LossGaps, packet_bytes,
    };
    pub use datapump_sessions::net::client::datagram_client::{DatagramClient, DatagramPath, DatagramsSent};
    pub use datapump_transport::{DatagramBuffers, DatagramSocket};
}

pub use datapump_core::problem::{
    AttributeKind, Class, LostAttribute, Operation, Problem, Status, shell_word, shown, words_about,
};
pub use datapump_core::verdict::{Cpu, LimitedBy, LimitedDetail, Phase, Waits, Why};
pub use datapump_mover::file::block_hook::BlockHook;
pub use datapump_mover::place::{Fill, Place, PlaceError, Remote};
pub use datapump_mover::report::bill::{Bill, BillHost, Billed};
pub use datapump_mover::report::change::{Change, ChangeKind};
pub use datapump_mover::report::cut_leaves::CutLeaves;
pub use datapump_mover::report::event::Event;
pub use datapump_mover::report::failed::JobFailed;
pub use datapump_mover::report::not_kept::NotKept;
pub use datapump_mover::report::watch::{Snapshot, TreeCounts, Watch};
pub use datapump_mover::report::{AskedAndGot, Latency, Network, Report, Unrecorded};
pub use datapump_mover::setup::defaults::{Defaults, Reads};
pub use datapump_mover::setup::options::{
    AttributeOptions, Backup, Choice, ComparisonOptions, DeletionOptions, DurabilityOptions, EngineChoice,
    FileBounds, FollowLinks, Keep, LimitOptions, LinkOptions, MeasuringOptions, NetworkOptions, Numbering,
    Options, Ownership, Permissions, PlaceOptions, ReportingOptions, Selection, SelectionOptions, Sync,
    TuningOptions, Update, WaitChoice,
};
pub use datapump_mover::setup::platform::Platform;
pub use datapump_sessions::net::client::path_look::{PathChoice, PathFacts};
pub use datapump_sessions::net::client::path_probe::Probed;
pub use datapump_sessions::net::client::request_response::{RequestSeries, TimedAnswers};
pub use datapump_sessions::net::server::serve_options::ServeOptions;
pub use datapump_sessions::net::server::{ServeEnd, Server};
pub use datapump_trees::job::Planned;
pub use job::Job;
