//! A source that is open, on this host or another, as it was when its copy began.
//!
//! Must not know: tasks, where the copy goes.

use std::ffi::CString;
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use datapump_core::StripeMap;
use datapump_engine::Handle;
use datapump_transport::WebFile;

use crate::end::RemoteBlocks;
use crate::file::copied::CopiedContent;
use crate::problem::Problem;
use datapump_files::disk::{FileKind, Folder, Meta};
use datapump_files::holes::ByteRanges;
use datapump_files::identity::tick::TimeLook;
use datapump_files::identity::{SourceChange, unsettled};

/// Extended attributes that the other side told; without a value those that it could not read.
pub type Attributes = Vec<(CString, Option<Vec<u8>>)>;

/// The source as it was when the copy began, to see later whether it changed.
#[derive(Debug)]
pub struct Original {
    pub path: PathBuf,
    pub held: Held,
    pub meta: Meta,
    /// What its times could tell then; young too where they could not when an earlier run began the copy. Whether those
    /// of another host were young is for that host to tell.
    pub look: TimeLook,
    /// The folder that it was opened in, where it was not opened by its path.
    pub folder: Option<Folder>,
    /// Files of the kernel (`/proc`, `/sys`) have no stable size and times.
    pub watched: bool,
    /// It was read again, and had the content that was copied; or what a small file of another host was when it was read.
    pub again: OnceLock<ReadAgain>,
}

/// A source that was read again, as it was then.
#[derive(Debug)]
pub struct ReadAgain {
    pub held: Held,
    pub meta: Meta,
}

impl Original {
    /// A source that was looked at, and is watched from then on.
    pub fn new(path: PathBuf, held: Held, meta: Meta, look: TimeLook) -> Original {
        Original { path, held, meta, look, folder: None, watched: true, again: OnceLock::new() }
    }

    /// Whether its attributes go with its content: those of a device say who may use the device.
    pub fn has_attributes(&self) -> bool {
        let is_device = matches!(self.meta.kind, FileKind::BlockDevice | FileKind::CharDevice);
        !is_device && self.held.elsewhere().is_none_or(|file| file.has_attributes())
    }

    /// The source as the run knows it that goes on with its copy: a time that is made up would be another one then.
    pub fn with_lasting_time(self) -> Original {
        let (_, has_time) = self.held.has_mode_and_time();
        let Meta { mtime_ns, atime_ns, .. } = self.meta;
        let (mtime_ns, atime_ns) = if has_time { (mtime_ns, atime_ns) } else { (0, 0) };
        Original { meta: Meta { mtime_ns, atime_ns, ..self.meta }, ..self }
    }

    /// Whether its times told all when it was opened: any change since would show in them.
    pub fn was_settled(&self) -> bool {
        self.held.elsewhere().map_or(!self.look.is_young, |file| file.was_settled())
    }

    /// Whether it can be read a second time, to be compared with what was copied.
    pub fn is_readable_again(&self) -> bool {
        self.held.elsewhere().is_none_or(|file| file.is_readable_again())
    }

    /// The source as it was known to have the copied content last.
    pub fn latest(&self) -> (&Held, &Meta) {
        self.again.get().map_or((&self.held, &self.meta), |again| (&again.held, &again.meta))
    }

    /// The problem of a doubt that cannot be settled.
    pub fn unsettled(&self, why: &str) -> Problem {
        unsettled(&self.path, "may have been changed", why, true)
    }
}

/// A source file that is open on this host, or to be had from another.
#[derive(Clone, Debug)]
pub enum Held {
    Here(Arc<Handle>),
    There(Arc<dyn Elsewhere>),
}

/// A source file that this host's system cannot open: what is known of it.
pub trait Elsewhere: Debug + Send + Sync {
    /// What its bytes come from.
    fn bytes_from(self: Arc<Self>) -> BytesFrom;
    /// How it is read, in words, once it was opened to be copied. `writes`: the copy is written.
    fn opened_words(&self, _writes: bool) -> Option<OpenedWords> {
        None
    }
    /// It comes in one stream, and not a second time.
    fn is_read_once(&self) -> bool {
        false
    }
    /// Whether it has attributes that a copy gets.
    fn has_attributes(&self) -> bool {
        true
    }
    /// How much of it is in the page cache, as far as the system tells.
    fn cached_fraction(&self) -> Option<f64> {
        None
    }
    /// Its length where it is read once, as a pipe or null is; `None` until its end.
    fn stream_bytes(&self) -> Option<u64> {
        None
    }
    /// Whether it tells where it holds data: a file that its kernel makes up does not.
    fn tells_ranges(&self) -> bool {
        true
    }
    /// What it is and carries besides its bytes, as far as is known.
    fn reported(&self) -> Option<(&Meta, &Attributes)>;
    /// Whether it has a mode, and a time of change that is known.
    fn has_mode_and_time(&self) -> (bool, bool) {
        (true, true)
    }
    /// The ranges that hold data.
    fn ranges(&self, meta: &Meta, _ignore_holes: bool) -> ByteRanges {
        vec![(0, meta.size_bytes)]
    }
    /// What happened to it since its copy began, if something did.
    fn find_change(&self, original: &Original) -> Result<Option<SourceChange>, Problem>;
    /// Whether its times, or whatever tells its states apart, told all when it was opened.
    fn was_settled(&self) -> bool;
    /// Whether [`Elsewhere::read_again`] can do it.
    fn is_readable_again(&self) -> bool;
    /// Reads it once more: the source as it is then, if it is what was copied, or what happened to it.
    fn read_again(
        &self,
        original: &Original,
        _copied: &CopiedContent<'_>,
        _stop: &AtomicBool,
    ) -> Result<Result<ReadAgain, SourceChange>, Problem> {
        Err(original.unsettled("it cannot be read a second time"))
    }
    /// Whether it still begins with what was copied of it; `None` where it cannot be read a second time.
    fn begins_with(
        &self,
        _original: &Original,
        _copied: &CopiedContent<'_>,
        _stop: &AtomicBool,
    ) -> Result<Option<bool>, Problem> {
        Ok(None)
    }
}

/// What the bytes of such a source come from.
#[derive(Clone, Debug)]
pub enum BytesFrom {
    /// They are requested of another host, over the lane's own connection.
    RemoteHost(Arc<dyn RemoteBlocks>),
    /// They are requested of a server on the web.
    Web(Arc<WebFile>),
    Stripe(OpenMembers),
}

/// The open members of a stripe that is read.
#[derive(Clone, Debug)]
pub struct OpenMembers {
    pub map: StripeMap,
    /// In the order of the map, with the names that messages have for them.
    pub files: Vec<(PathBuf, Arc<Handle>)>,
}

/// How a source is read, in words.
#[derive(Clone, Debug)]
pub enum OpenedWords {
    /// For who wants to know more.
    Note(String),
    /// For all.
    Notice(String),
}

/// It was read again, and has other bytes than were copied.
pub fn rewritten() -> SourceChange {
    SourceChange::Other("was rewritten".into())
}

impl Held {
    /// The metadata and attributes that another system reported of the file, if one did.
    pub fn reported(&self) -> Option<(&Meta, &Attributes)> {
        self.elsewhere().and_then(|file| file.reported())
    }

    /// Whether it has a mode, and a time of change that is known.
    pub fn has_mode_and_time(&self) -> (bool, bool) {
        self.elsewhere().map_or((true, true), |file| file.has_mode_and_time())
    }

    /// The file that this host's system cannot open.
    pub fn elsewhere(&self) -> Option<&Arc<dyn Elsewhere>> {
        match self {
            Held::Here(_) => None,
            Held::There(file) => Some(file),
        }
    }

    /// Whether it comes in one stream, and not a second time.
    pub fn is_read_once(&self) -> bool {
        self.elsewhere().is_some_and(|file| file.is_read_once())
    }

    /// The open file of this host.
    pub fn here(&self) -> Option<&Arc<Handle>> {
        match self {
            Held::Here(handle) => Some(handle),
            Held::There(_) => None,
        }
    }
}
