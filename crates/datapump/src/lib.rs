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

mod net;

/// The parts of a simulated [`Platform`].
pub mod simulation {
    pub use crate::setup::platform::Simulation;
    pub use datapump_core::model;
    pub use datapump_engine::sim::{Device, Faults, Peaks, Random, SimClock, SimDisk};
    pub use datapump_engine::{Errno, os::linux::timer_slack};
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
    pub use crate::net::client::datagram_client::{DatagramClient, DatagramPath, DatagramsSent};
    pub use datapump_core::wire::datagrams::{
        DATAGRAM_BYTES_MAX, DATAGRAM_HEAD_BYTES, DATAGRAMS_LAST_MAX_NS, DATAGRAMS_MAX, DatagramCounter,
        DatagramCounts, DatagramGrant, DatagramHead, DatagramRequest, DatagramUse, LossGaps, packet_bytes,
    };
    pub use datapump_transport::{DatagramBuffers, DatagramSocket};
}

pub(crate) use datapump_core::problem;
pub(crate) use datapump_mover::{end, file, lane, open, place, report, run, setup};
pub(crate) use datapump_trees::{job, listed, origin, target, tree};

pub use datapump_core::verdict::{Cpu, LimitedBy, LimitedDetail, Phase, Waits, Why};
pub use file::block_hook::BlockHook;
pub use job::{Job, Planned};
pub use net::client::path_look::{PathChoice, PathFacts};
pub use net::client::path_probe::Probed;
pub use net::client::remote_copy::RemoteCopy;
pub use net::client::request_response::{RequestSeries, TimedAnswers};
pub use net::server::serve_options::ServeOptions;
pub use net::server::{ServeEnd, Server};
pub use place::{Fill, Place, PlaceError, Remote};
pub use problem::{
    AttributeKind, Class, LostAttribute, Operation, Problem, Status, shell_word, shown, words_about,
};
pub use report::bill::{Bill, BillHost, Billed};
pub use report::change::{Change, ChangeKind};
pub use report::cut_leaves::CutLeaves;
pub use report::event::Event;
pub use report::failed::JobFailed;
pub use report::not_kept::NotKept;
pub use report::watch::{Snapshot, TreeCounts, Watch};
pub use report::{AskedAndGot, Latency, Network, Report};
pub use setup::defaults::{Defaults, Reads};
pub use setup::options::{
    AttributeOptions, Backup, Choice, ComparisonOptions, DeletionOptions, DurabilityOptions, EngineChoice,
    FollowLinks, Keep, LimitOptions, LinkOptions, MeasuringOptions, NetworkOptions, Numbering, Options,
    Ownership, Permissions, PlaceOptions, ReportingOptions, Selection, SelectionOptions, Sync, TuningOptions,
    Update, WaitChoice,
};
pub use setup::platform::Platform;
