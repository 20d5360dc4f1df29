//! The groups of [`Options`](super::Options).
//!
//! Must not know: flags' names, how options reach another host.

use std::path::PathBuf;
use std::time::Duration;

use datapump_core::name::Update;
use datapump_core::selection::{FileBounds, Selection};
use datapump_files::attributes::given::Ownership;
use datapump_files::attributes::keep::Keep;
use datapump_files::attributes::permissions::Permissions;
use datapump_files::followed::FollowLinks;
use datapump_transport::SocketOptions;
use serde::{Deserialize, Serialize};

use crate::setup::options::{Choice, EngineChoice, Sync, WaitChoice, update_on_wire};

/// Selection of the names of a tree that are copied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SelectionOptions {
    /// The rules for what is left out, in this order: the first that matches decides.
    #[serde(rename = "selection")]
    pub rules: Vec<Selection>,
    /// Paths that patterns are matched against begin with a source folder's own name where it goes to a folder under
    /// that name, as rsync has them. Otherwise they begin in each source folder. Of a comparison:
    /// they may begin above the first folder, and those that mean other names there are refused.
    pub patterns_begin_above: bool,
    /// A list of names is told, not refused, where no source is a folder: nobody gave it for this copy alone.
    pub list_is_default: bool,
    /// Files outside of these are skipped.
    #[serde(flatten)]
    pub bounds: FileBounds,
    /// Folders on other file systems than their tree's root are left out.
    pub one_file_system: bool,
}

/// Comparison of an existing entry with its source, and whether it is replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ComparisonOptions {
    /// The files that are left alone for their size and time.
    #[serde(with = "update_on_wire")]
    pub update: Update,
    /// A file that is equal in size counts as equal in time, and gets the source's.
    pub size_only: bool,
    /// Times that lie no farther apart are one.
    pub modify_window: Duration,
    /// A file that is equal in content is left alone, whatever its time.
    pub checksum: bool,
    /// Comparisons look at names, kinds and content only.
    pub content_only: bool,
    /// Comparisons look at owners, access control lists and extended attributes, too.
    pub compare_attributes: bool,
    /// Of a comparison: its target is the original, and its source the copy. This side alone compares.
    #[serde(skip)]
    pub compares_backwards: bool,
    /// Whatever stands at the target is left alone.
    pub ignore_existing: bool,
    /// Nothing is made that does not stand at the target.
    pub existing: bool,
}

/// Deletion: at the target names that the source does not have, at the source files that were copied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeletionOptions {
    /// What the source does not have is removed, once all was copied without an error.
    pub delete: bool,
    /// Names that are left out are removed, too.
    pub delete_excluded: bool,
    /// The target becomes the same as the one folder that is the source: an empty one is taken for a disk that is not
    /// mounted, unless it is said how many names may go.
    pub mirror: bool,
    /// More names than this are not removed, but refused.
    pub max_delete: Option<u64>,
    /// Files of the source are removed when their copies are on stable storage.
    pub remove_sources: bool,
    /// Files that are written beside the copy, as a log: none is removed with `delete`.
    #[serde(skip)]
    pub own_files: Vec<PathBuf>,
}

/// Attributes that copies get.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AttributeOptions {
    /// The attributes of a file that are kept.
    pub keep: Keep,
    /// What becomes of its permissions.
    pub permissions: Option<Permissions>,
    /// The owner and group that copies get.
    pub ownership: Option<Ownership>,
}

/// Durability: when data are on stable storage, whether they are read back, what a cut run leaves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DurabilityOptions {
    /// When data are put on stable storage.
    pub sync: Sync,
    /// Read the target back from the device and compare.
    pub verify: bool,
    /// Write into the existing target instead of replacing it.
    pub inplace: bool,
    /// A file that was cut starts over, and none is left for a later run to go on with.
    pub no_resume: bool,
}

/// Symbolic links in trees, and hard links to unchanged files of earlier copies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LinkOptions {
    /// Symbolic links in folders of this host that are copied as what they point to.
    pub follow: FollowLinks,
    /// Symbolic links that lead out of their tree are left out.
    pub safe_links: bool,
    /// A file that is unchanged in one of these folders, the first that has it, becomes a link to the one there.
    pub link_dest: Vec<PathBuf>,
}

/// Meaning of the places that the user named: the sources and the target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlaceOptions {
    /// The target is the name itself, never a folder to copy into (`-T`).
    pub target_is_name: bool,
    /// The target must be a folder that exists, and receives all sources.
    pub target_is_folder: bool,
    /// Folders that are missing above the target are made.
    pub make_path: bool,
    /// Block devices may be read and written as data.
    pub devices: bool,
    /// A symbolic link that is named as a source is copied as a link.
    pub keep_links: bool,
    /// A pipe of this host that is named as a source is made at the target, and never read.
    #[serde(skip)]
    pub keep_pipes: bool,
}

/// The connections to another host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NetworkOptions {
    /// Names and small files of another host are sent before they are requested. Default: over a long path.
    pub read_ahead: Choice,
    /// Blocks that cross a network are not hashed: only the lab asks for it, at both ends.
    pub unhashed: bool,
    /// Sockets below the connections to another host.
    pub sockets: SocketOptions,
}

/// Tuning of how blocks are moved. Defaults follow measured rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TuningOptions {
    /// Size of a request in bytes: a multiple of 1 KiB from 1 KiB to 64 MiB. Default: by the measured rule.
    pub request_bytes: Option<u32>,
    /// Requests in flight at the source, 1 to 4096. Default: by the measured rule.
    pub source_depth: Option<u32>,
    /// Requests in flight at the sink, 1 to 4096. Default: by the measured rule.
    pub sink_depth: Option<u32>,
    /// Parallel loops, 1 to 256. Default: by the measured rule.
    pub lanes: Option<u32>,
    /// Engine asked for.
    pub engine: EngineChoice,
    /// How it waits.
    pub wait: WaitChoice,
    /// Direct I/O, past the page cache.
    pub direct: Choice,
    /// Buffered requests whose pages leave the page cache behind them (`RWF_DONTCACHE`).
    pub uncached: bool,
    /// Sharing of blocks where the file system can (FICLONE).
    pub reflink: Choice,
    /// The room of a target is not reserved before it is written.
    pub no_reserve: bool,
    /// Never look for holes: read and write every byte.
    pub ignore_holes: bool,
    /// Pages of zeros become holes of files that are new.
    pub makes_holes: bool,
    /// Most bytes per second.
    pub bytes_per_second: Option<u64>,
}

/// Reports while a job runs, and counts for its report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReportingOptions {
    /// Tell what was decided about each file: [`crate::report::event::Event::Note`].
    pub notes: bool,
    /// Tell each change when it is made, copied files and the letters of rsync included:
    /// [`crate::report::event::Event::Change`].
    pub changes: bool,
    /// Keep histograms of how long requests took: the clock is read twice more for each.
    pub latencies: bool,
    /// CPU time is told by stage: [`crate::report::Report::bill`].
    pub bill: bool,
}

/// Requests of measurements alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MeasuringOptions {
    /// Each write is complete when it is on stable storage (`RWF_DSYNC`): of studies.
    pub dsync: bool,
    /// So many bytes of the source are written and synced in the target's folder as a file without a name, which goes
    /// again: for measuring. At most [`super::Options::REHEARSAL_BYTES_MAX`], and one in twenty of the bytes that are free.
    pub rehearsal_bytes: Option<u64>,
    /// A rehearsal on one host begins at this byte of the source's data, so that what it reads was not read by one before.
    #[serde(skip)]
    pub rehearsal_begin: u64,
    /// The place on the other host is null: as a source it has so many bytes. Only measurements ask for it.
    pub far_null_bytes: Option<u64>,
    /// The other host is asked for its network settings. Only who looks at a path does so.
    #[serde(skip)]
    pub asks_host: bool,
}

/// Bounds that the two sides of a session set for each other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LimitOptions {
    /// To so many the requests at a source on another host may grow, where the path is long and `source_depth` is not
    /// asked. Not told to another host: each side has its own memory. Default: by the measured rule.
    #[serde(skip)]
    pub source_depth_max: Option<u32>,
    /// Slots of all lanes take no more bytes: there are fewer requests in flight at the source where their number is not
    /// asked. Not told to another host. Default: [`super::Options::POOL_BYTES_MAX`].
    #[serde(skip)]
    pub pool_bytes_max: Option<u64>,
    /// To so many the lanes of one file or several may grow where the path from another host is long and `lanes` is
    /// not asked, 1 to 256. Default: they do not.
    pub lanes_max: Option<u32>,
    /// With so many of them such a copy begins. Default: with the usual number.
    pub lanes_at_first: Option<u32>,
}
