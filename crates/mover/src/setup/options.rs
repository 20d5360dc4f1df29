//! Options of a job, in groups: what its user may ask for. Every field has a default that was measured or is the safe choice.
//!
//! Must not know: flags' names, how they were typed.

mod choices;
mod groups;
pub mod told_bytes;
mod update_on_wire;
mod wire;

use std::time::Duration;

pub use datapump_core::name::Update;
pub use datapump_core::selection::{FileBounds, Selection};
use datapump_files::attributes::given::Given;
pub use datapump_files::attributes::given::Ownership;
pub use datapump_files::attributes::keep::Keep;
pub use datapump_files::attributes::permissions::Permissions;
pub use datapump_files::commit::aside::{Backup, Numbering};
pub use datapump_files::followed::FollowLinks;
use serde::Serialize;

pub use choices::{Choice, EngineChoice, Sync, WaitChoice};
pub use groups::{
    AttributeOptions, ComparisonOptions, DeletionOptions, DurabilityOptions, LimitOptions, LinkOptions,
    MeasuringOptions, NetworkOptions, PlaceOptions, ReportingOptions, SelectionOptions, TuningOptions,
};

/// Options that a user may ask of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Options {
    /// Names of a tree that are copied.
    #[serde(flatten)]
    pub selection: SelectionOptions,
    /// Comparison of an existing entry with its source.
    #[serde(flatten)]
    pub comparison: ComparisonOptions,
    /// Deletion at the target, and of copied files at the source.
    #[serde(flatten)]
    pub deletion: DeletionOptions,
    /// Attributes that copies get.
    #[serde(flatten)]
    pub attributes: AttributeOptions,
    /// Durability of what is written.
    #[serde(flatten)]
    pub durability: DurabilityOptions,
    /// Symbolic links in trees, and hard links to unchanged files of earlier copies.
    #[serde(flatten)]
    pub links: LinkOptions,
    /// Meaning of the places that the user named.
    #[serde(flatten)]
    pub place: PlaceOptions,
    /// Connections to another host.
    #[serde(flatten)]
    pub network: NetworkOptions,
    /// Tuning of how blocks are moved.
    #[serde(flatten)]
    pub tuning: TuningOptions,
    /// Reports while a job runs.
    #[serde(flatten)]
    pub reporting: ReportingOptions,
    /// Requests of measurements alone.
    #[serde(flatten)]
    pub measuring: MeasuringOptions,
    /// Bounds that the two sides of a session set for each other.
    #[serde(flatten)]
    pub limits: LimitOptions,
    /// A file that is replaced or removed gets another name.
    pub backup: Option<Backup>,
    /// Make no change, but tell each that would be made.
    pub dry_run: bool,
}

/// How long what passes is tried again: long enough for a server to start again.
pub const RETRY_FOR: Duration = Duration::from_secs(60);
/// Silence after which another host, or a server on the web, is taken for dead.
pub const PEER_TIMEOUT: Duration = Duration::from_secs(30);

impl Options {
    /// These options after `change`.
    pub fn with(mut self, change: impl FnOnce(&mut Options)) -> Options {
        change(&mut self);
        self
    }
}

/// Limits, with their reasons.
impl Options {
    /// The smallest request: one chunk of the hash tree.
    pub const REQUEST_BYTES_MIN: u32 = 1 << 10;
    /// The largest request: more than 4 MiB in flight already cost speed on a disk.
    pub const REQUEST_BYTES_MAX: u32 = 64 << 20;
    /// What a rehearsal writes at most.
    pub const REHEARSAL_BYTES_MAX: u64 = datapump_files::commit::REHEARSAL_BYTES_MAX;
    /// The most requests in flight at an end: io_uring rings end at 32,768 entries, and lanes multiply.
    pub const DEPTH_MAX: u32 = 4096;
    /// The most lanes.
    pub const LANES_MAX: u32 = 256;
    /// The most bytes in slots of all lanes together.
    pub const POOL_BYTES_MAX: u64 = 4 << 30;

    /// Says which field is out of its limits, if one is.
    pub fn check(&self) -> Result<(), String> {
        let (low, high) = (Self::REQUEST_BYTES_MIN, Self::REQUEST_BYTES_MAX);
        if let Some(bytes) = self.tuning.request_bytes
            && (!(low..=high).contains(&bytes) || bytes % low != 0)
        {
            return Err("the request size must be a multiple of 1 KiB from 1 KiB to 64 MiB".into());
        }
        for (name, depth) in
            [("source depth", self.tuning.source_depth), ("sink depth", self.tuning.sink_depth)]
        {
            if depth.is_some_and(|depth| !(1..=Self::DEPTH_MAX).contains(&depth)) {
                return Err(format!(
                    "the {name} must be 1 to {}, not {}",
                    Self::DEPTH_MAX,
                    depth.unwrap_or(0)
                ));
            }
        }
        let mut lanes = [self.tuning.lanes, self.limits.lanes_max].into_iter().flatten();
        if let Some(lanes) = lanes.find(|lanes| !(1..=Self::LANES_MAX).contains(lanes)) {
            return Err(format!("lanes must be 1 to {}, not {lanes}", Self::LANES_MAX));
        }
        if self.tuning.uncached && self.tuning.direct == Choice::Always {
            return Err(
                "direct I/O goes past the cache already: leave out --uncached or --direct=always".into()
            );
        }
        self.check_given()?;
        self.check_links_and_holes()?;
        if self.deletion.remove_sources {
            self.check_removal()?;
        }
        self.backup.as_ref().map_or(Ok(()), Backup::check)?;
        if self.backup.is_some() && self.durability.inplace {
            return Err(
                "--inplace gives up the old content as it writes: leave out --backup or --inplace".into()
            );
        }
        if self.durability.inplace && (self.comparison.update == Update::Older || self.comparison.size_only) {
            return Err("a file that is written where it stands is newer than its source, and may have its size, when \
                        that is cut; with -u or --size-only it would be left half written: leave out --inplace, -u or \
                        --size-only"
                .into());
        }
        if self.measuring.rehearsal_bytes.is_some()
            && (self.durability.inplace || self.place.devices || self.durability.verify)
        {
            return Err(
                "a rehearsal leaves no file: it goes with neither --inplace, --devices nor --verify".into()
            );
        }
        if self.tuning.bytes_per_second.is_some_and(|rate| rate == 0) {
            return Err("a rate limit of 0 bytes per second would never end".into());
        }
        Ok(())
    }

    /// Errors: permissions or owners are both given by value and left out.
    fn check_given(&self) -> Result<(), String> {
        if self.attributes.permissions.is_some() && !self.attributes.keep.mode {
            return Err(
                "--chmod sets permissions, and --no-preserve leaves them out: drop one of them".into()
            );
        }
        if self.attributes.ownership.is_some() && !self.attributes.keep.owner {
            return Err("--chown sets owners, and --no-preserve leaves them out: drop one of them".into());
        }
        Ok(())
    }

    /// Errors: options about links or holes exclude each other.
    fn check_links_and_holes(&self) -> Result<(), String> {
        if self.tuning.makes_holes && self.measuring.rehearsal_bytes.is_some() {
            return Err("a rehearsal writes all of its bytes: leave out --sparse=always".into());
        }
        if self.links.safe_links && self.links.follow != FollowLinks::Never {
            return Err(
                "links are followed, or left out: leave out --safe-links or -L and --copy-unsafe-links"
                    .into(),
            );
        }
        if self.tuning.makes_holes && (self.durability.inplace || self.tuning.reflink == Choice::Always) {
            return Err(
                "--sparse=always makes holes in a new file that shares no blocks: leave it out, or --inplace and \
                 --reflink=always"
                    .into(),
            );
        }
        Ok(())
    }

    /// Errors: the source's files are to be removed, with an option under which nothing shows that their copies are at
    /// the target.
    fn check_removal(&self) -> Result<(), String> {
        let (removal, leave_out) = ("--remove-source-files", "leave one of them out");
        let why = if self.deletion.delete {
            "what it moved to stay, and the next --delete would remove it"
        } else if self.durability.sync == Sync::None {
            "copies on stable storage, and --sync=none does not wait for it"
        } else if !self.attributes.keep.times {
            "the times of copies to be the source's, and --no-preserve leaves them out"
        } else if self.comparison.ignore_existing {
            "to know that what stands is a copy, and --ignore-existing never looks"
        } else if self.links.follow != FollowLinks::Never {
            "names of the source's own files, and followed links have none"
        } else if self.measuring.rehearsal_bytes.is_some() {
            "copies, and a rehearsal makes none"
        } else if self.comparison.checksum {
            return Ok(());
        } else if self.comparison.size_only {
            "copies of equal time, and --size-only makes them so"
        } else if !self.comparison.modify_window.is_zero() {
            "copies of equal time, and --modify-window takes others for them"
        } else {
            return Ok(());
        };
        Err(format!("{removal} needs {why}; {leave_out}"))
    }

    /// Finds what copies are given by the names that this host knows.
    pub fn find_given(&mut self) -> Result<(), String> {
        let (user, group) =
            self.attributes.ownership.as_ref().map_or(Ok((None, None)), Ownership::numbers)?;
        self.attributes.keep.given = Given { permissions: self.attributes.permissions, user, group };
        Ok(())
    }
}
