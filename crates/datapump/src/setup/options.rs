//! Options of a job: what its user may ask for. Every field has a default that was measured or is the safe choice.
//!
//! Must not know: flags' names, how they were typed.

pub(crate) mod told_bytes;
mod update_on_wire;

use std::path::PathBuf;
use std::time::Duration;

pub use datapump_core::name::Update;
pub use datapump_core::selection::Selection;
use datapump_files::attributes::given::Given;
use datapump_transport::SocketOptions;
use serde::{Deserialize, Serialize};

pub use datapump_files::attributes::given::Ownership;
pub use datapump_files::attributes::keep::Keep;
pub use datapump_files::attributes::permissions::Permissions;
pub use datapump_files::commit::aside::{Backup, Numbering};
pub use datapump_files::followed::FollowLinks;

/// A choice that the program makes unless told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Choice {
    /// The measured rule decides.
    #[default]
    Auto,
    /// Required: it is an error if it cannot be had.
    Always,
    /// Forbidden.
    Never,
}

/// The engine asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum EngineChoice {
    /// The first that works: uring, threads, inline.
    #[default]
    Auto,
    /// io_uring(7), or the next that works.
    Uring,
    /// Threads, or the next that works.
    Threads,
    /// One request at a time.
    Inline,
}

/// How a lane waits when nothing is complete. The inline engine has nothing in flight and never waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum WaitChoice {
    /// Asleep in the kernel.
    #[default]
    Kernel,
    /// Awake, looking again and again: a CPU for the time of being woken.
    Spin,
    /// Asleep at an eventfd(2), with poll(2).
    Eventfd,
}

/// When data are put on stable storage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sync {
    /// Before the job ends with status 0.
    #[default]
    End,
    /// Before each name appears. For single files the same as `End`: each is synced before its rename.
    Each,
    /// Never asked for: as cp.
    None,
}

datapump_core::in_words! {
    Choice is "choice" {
        Auto "auto" "The program decides by a measured rule"
        Always "always" "Required: an error where it cannot be had"
        Never "never" "Forbidden"
    }
}

datapump_core::in_words! {
    EngineChoice is "engine" {
        Auto "auto" "The first that works here"
        Uring "uring" "io_uring: many requests with one system call"
        Threads "threads" "One thread for each request in flight"
        Inline "inline" "One request at a time"
    }
}

datapump_core::in_words! {
    WaitChoice is "way to wait" {
        Kernel "kernel" "Asleep in the kernel"
        Spin "spin" "Awake: looks again and again, and uses up a CPU"
        Eventfd "eventfd" "Asleep at an eventfd, for studies"
    }
}

datapump_core::in_words! {
    Sync is "kind of sync" {
        End "end" "Before the command ends"
        Each "each" "Before each name appears"
        None "none" "Never asked for"
    }
}

/// What a user may ask of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Size of a request in bytes: a multiple of 1 KiB from 1 KiB to 64 MiB. Default: by the measured rule.
    pub request_bytes: Option<u32>,
    /// Requests in flight at the source, 1 to 4096. Default: by the measured rule.
    pub source_depth: Option<u32>,
    /// To so many the requests at a source on another host may grow, where the path is long and `source_depth` is not
    /// asked. Not told to another host: each side has its own memory. Default: by the measured rule.
    #[serde(skip)]
    pub source_depth_max: Option<u32>,
    /// Slots of all lanes take no more bytes: there are fewer requests in flight at the source where their number is not
    /// asked. Not told to another host. Default: [`Options::POOL_BYTES_MAX`].
    #[serde(skip)]
    pub pool_bytes_max: Option<u64>,
    /// Requests in flight at the sink, 1 to 4096. Default: by the measured rule.
    pub sink_depth: Option<u32>,
    /// Parallel loops, 1 to 256. Default: by the measured rule.
    pub lanes: Option<u32>,
    /// To so many the lanes of one file or several may grow where the path from another host is long and `lanes` is
    /// not asked, 1 to 256. Default: they do not.
    pub lanes_max: Option<u32>,
    /// With so many of them such a copy begins. Default: with the usual number.
    pub lanes_at_first: Option<u32>,
    /// Engine asked for.
    pub engine: EngineChoice,
    /// How it waits.
    pub wait: WaitChoice,
    /// Direct I/O, past the page cache.
    pub direct: Choice,
    /// Buffered requests whose pages leave the page cache behind them (`RWF_DONTCACHE`).
    pub uncached: bool,
    /// Each write is complete when it is on stable storage (`RWF_DSYNC`): of studies.
    pub dsync: bool,
    /// Sharing of blocks where the file system can (FICLONE).
    pub reflink: Choice,
    /// Names and small files of another host are sent before they are requested. Default: over a long path.
    pub read_ahead: Choice,
    /// When data are put on stable storage.
    pub sync: Sync,
    /// Read the target back from the device and compare.
    pub verify: bool,
    /// Most bytes per second.
    pub bytes_per_second: Option<u64>,
    /// Write into the existing target instead of replacing it.
    pub inplace: bool,
    /// A file that was cut starts over, and none is left for a later run to go on with.
    pub no_resume: bool,
    /// The room of a target is not reserved before it is written.
    pub no_reserve: bool,
    /// The target is the name itself, never a folder to copy into (`-T`).
    pub target_is_name: bool,
    /// The target must be a folder that exists, and receives all sources.
    pub target_is_folder: bool,
    /// Folders that are missing above the target are made.
    pub make_path: bool,
    /// Block devices may be read and written as data.
    pub devices: bool,
    /// Never look for holes: read and write every byte.
    pub ignore_holes: bool,
    /// Pages of zeros become holes of files that are new.
    pub makes_holes: bool,
    /// Blocks that cross a network are not hashed: only the lab asks for it, at both ends.
    pub unhashed: bool,
    /// So many bytes of the source are written and synced in the target's folder as a file without a name, which goes
    /// again: for measuring. At most [`Options::REHEARSAL_BYTES_MAX`], and one in twenty of the bytes that are free.
    pub rehearsal_bytes: Option<u64>,
    /// The place on the other host is null: as a source it has so many bytes. Only measurements ask for it.
    pub far_null_bytes: Option<u64>,
    /// The other host is asked for its network settings. Only who looks at a path does so.
    #[serde(skip)]
    pub asks_host: bool,
    /// The attributes of a file that are kept.
    pub keep: Keep,
    /// What becomes of its permissions.
    pub permissions: Option<Permissions>,
    /// The owner and group that copies get.
    pub ownership: Option<Ownership>,
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
    /// Whatever stands at the target is left alone.
    pub ignore_existing: bool,
    /// Nothing is made that does not stand at the target.
    pub existing: bool,
    /// Files below this size are passed by.
    pub min_size_bytes: Option<u64>,
    /// Files above this size are passed by.
    pub max_size_bytes: Option<u64>,
    /// The rules for what is left out, in this order: the first that matches decides.
    pub selection: Vec<Selection>,
    /// Paths that patterns are matched against begin with a source folder's own name where it goes to a folder under
    /// that name, as rsync has them. Otherwise they begin in each source folder. Of a comparison:
    /// they may begin above the first folder, and those that mean other names there are refused.
    pub patterns_begin_above: bool,
    /// Of a comparison: its target is the original, and its source the copy. This side alone compares.
    #[serde(skip)]
    pub compares_backwards: bool,
    /// A list of names is told, not refused, where no source is a folder: nobody gave it for this copy alone.
    pub list_is_default: bool,
    /// What the source does not have is removed, once all was copied without an error.
    pub delete: bool,
    /// Names that are left out are removed, too.
    pub delete_excluded: bool,
    /// A file that is replaced or removed gets another name.
    pub backup: Option<Backup>,
    /// The target becomes the same as the one folder that is the source: an empty one is taken for a disk that is not
    /// mounted, unless it is said how many names may go.
    pub mirror: bool,
    /// Files of the source are removed when their copies are on stable storage.
    pub remove_sources: bool,
    /// More names than this are not removed, but refused.
    pub max_delete: Option<u64>,
    /// A file that is unchanged in one of these folders, the first that has it, becomes a link to the one there.
    pub link_dest: Vec<PathBuf>,
    /// Files that are written beside the copy, as a log: none is removed with `delete`.
    #[serde(skip)]
    pub own_files: Vec<PathBuf>,
    /// Symbolic links in folders of this host that are copied as what they point to.
    pub follow: FollowLinks,
    /// A symbolic link that is named as a source is copied as a link.
    pub keep_links: bool,
    /// A pipe of this host that is named as a source is made at the target, and never read.
    #[serde(skip)]
    pub keep_pipes: bool,
    /// Symbolic links that lead out of their tree are left out.
    pub safe_links: bool,
    /// Folders on other file systems than their tree's root are left out.
    pub one_file_system: bool,
    /// Tell what was decided about each file: [`crate::Event::Note`].
    pub notes: bool,
    /// Tell each change when it is made, copied files and the letters of rsync included: [`crate::Event::Change`].
    pub changes: bool,
    /// Make no change, but tell each that would be made.
    pub dry_run: bool,
    /// Keep histograms of how long requests took: the clock is read twice more for each.
    pub latencies: bool,
    /// CPU time is told by stage: [`crate::Report::bill`].
    pub bill: bool,
    /// Sockets below the connections to another host.
    pub sockets: SocketOptions,
}

/// How long what passes is tried again: long enough for a server to start again.
pub(crate) const RETRY_FOR: Duration = Duration::from_secs(60);
/// Silence after which another host, or a server on the web, is taken for dead.
pub(crate) const PEER_TIMEOUT: Duration = Duration::from_secs(30);

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

    /// As another host is told: what is not the default. A version that does not know one of these refuses it, where it
    /// would copy otherwise than was asked if it passed it over.
    pub(crate) fn to_wire(&self) -> String {
        let fields = |options: &Options| serde_json::to_value(options).unwrap_or_default();
        let (mut told, defaults) = (fields(self), fields(&Options::default()));
        if let Some(told) = told.as_object_mut() {
            told.retain(|name, value| defaults.get(name) != Some(value));
        }
        told_bytes::json(told)
    }

    /// Says which field is out of its limits, if one is.
    pub fn check(&self) -> Result<(), String> {
        let (low, high) = (Self::REQUEST_BYTES_MIN, Self::REQUEST_BYTES_MAX);
        if let Some(bytes) = self.request_bytes
            && (!(low..=high).contains(&bytes) || bytes % low != 0)
        {
            return Err("the request size must be a multiple of 1 KiB from 1 KiB to 64 MiB".into());
        }
        for (name, depth) in [("source depth", self.source_depth), ("sink depth", self.sink_depth)] {
            if depth.is_some_and(|depth| !(1..=Self::DEPTH_MAX).contains(&depth)) {
                return Err(format!(
                    "the {name} must be 1 to {}, not {}",
                    Self::DEPTH_MAX,
                    depth.unwrap_or(0)
                ));
            }
        }
        let mut lanes = [self.lanes, self.lanes_max].into_iter().flatten();
        if let Some(lanes) = lanes.find(|lanes| !(1..=Self::LANES_MAX).contains(lanes)) {
            return Err(format!("lanes must be 1 to {}, not {lanes}", Self::LANES_MAX));
        }
        if self.uncached && self.direct == Choice::Always {
            return Err(
                "direct I/O goes past the cache already: leave out --uncached or --direct=always".into()
            );
        }
        self.check_given()?;
        self.check_links_and_holes()?;
        if self.remove_sources {
            self.check_removal()?;
        }
        self.backup.as_ref().map_or(Ok(()), Backup::check)?;
        if self.backup.is_some() && self.inplace {
            return Err(
                "--inplace gives up the old content as it writes: leave out --backup or --inplace".into()
            );
        }
        if self.inplace && (self.update == Update::Older || self.size_only) {
            return Err("a file that is written where it stands is newer than its source, and may have its size, when \
                        that is cut; with -u or --size-only it would be left half written: leave out --inplace, -u or \
                        --size-only"
                .into());
        }
        if self.rehearsal_bytes.is_some() && (self.inplace || self.devices || self.verify) {
            return Err(
                "a rehearsal leaves no file: it goes with neither --inplace, --devices nor --verify".into()
            );
        }
        if self.bytes_per_second.is_some_and(|rate| rate == 0) {
            return Err("a rate limit of 0 bytes per second would never end".into());
        }
        Ok(())
    }

    /// What copies are given, and what is left as it is.
    fn check_given(&self) -> Result<(), String> {
        if self.permissions.is_some() && !self.keep.mode {
            return Err(
                "--chmod sets permissions, and --no-preserve leaves them out: drop one of them".into()
            );
        }
        if self.ownership.is_some() && !self.keep.owner {
            return Err("--chown sets owners, and --no-preserve leaves them out: drop one of them".into());
        }
        Ok(())
    }

    fn check_links_and_holes(&self) -> Result<(), String> {
        if self.makes_holes && self.rehearsal_bytes.is_some() {
            return Err("a rehearsal writes all of its bytes: leave out --sparse=always".into());
        }
        if self.safe_links && self.follow != FollowLinks::Never {
            return Err(
                "links are followed, or left out: leave out --safe-links or -L and --copy-unsafe-links"
                    .into(),
            );
        }
        if self.makes_holes && (self.inplace || self.reflink == Choice::Always) {
            return Err(
                "--sparse=always makes holes in a new file that shares no blocks: leave it out, or --inplace and \
                 --reflink=always"
                    .into(),
            );
        }
        Ok(())
    }

    /// What goes from the source must be known to be at the target.
    fn check_removal(&self) -> Result<(), String> {
        let (removal, leave_out) = ("--remove-source-files", "leave one of them out");
        let why = match () {
            () if self.delete => "what it moved to stay, and the next --delete would remove it",
            () if self.sync == Sync::None => "copies on stable storage, and --sync=none does not wait for it",
            () if !self.keep.times => {
                "the times of copies to be the source's, and --no-preserve leaves them out"
            }
            () if self.ignore_existing => {
                "to know that what stands is a copy, and --ignore-existing never looks"
            }
            () if self.follow != FollowLinks::Never => {
                "names of the source's own files, and followed links have none"
            }
            () if self.rehearsal_bytes.is_some() => "copies, and a rehearsal makes none",
            () if self.checksum => return Ok(()),
            () if self.size_only => "copies of equal time, and --size-only makes them so",
            () if !self.modify_window.is_zero() => {
                "copies of equal time, and --modify-window takes others for them"
            }
            () => return Ok(()),
        };
        Err(format!("{removal} needs {why}; {leave_out}"))
    }

    /// Finds what copies are given by the names that this host knows.
    pub(crate) fn find_given(&mut self) -> Result<(), String> {
        let (user, group) = self.ownership.as_ref().map_or(Ok((None, None)), Ownership::numbers)?;
        self.keep.given = Given { permissions: self.permissions, user, group };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_version_understands_what_it_knows_and_refuses_the_rest() {
        for (update, told) in
            [(Update::All, "false"), (Update::Older, "true"), (Update::Differs, "\"differs\"")]
        {
            let json = update_on_wire::serialize(&update, serde_json::value::Serializer).expect("it is sent");
            assert_eq!(json.to_string(), told);
            assert_eq!(update_on_wire::deserialize(json).expect("it is read"), update);
        }
        let unknown = update_on_wire::deserialize(serde_json::json!("newer")).expect_err("nobody knows that");
        assert!(unknown.to_string().contains("--update=newer"), "{unknown}");
    }
}
