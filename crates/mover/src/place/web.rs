//! A place on the web: opened once, when it is first looked at, for the name and the size that the copy has.
//!
//! Must not know: where the copy goes, how blocks are read.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use datapump_transport::{WebFault, WebFile, WebPatience, WebUrl};

use crate::problem::{Operation, Problem};
use datapump_files::disk::{FileKind, Meta, umask};

/// Temporary files, journals and lists begin with it.
const OURS: &[u8] = b".pump-";

/// A URL, and what is found there.
#[derive(Clone, Debug)]
pub struct Web {
    url: WebUrl,
    found: Arc<OnceLock<Result<WebFound, WebFault>>>,
}

#[derive(Debug)]
struct WebFound {
    file: Arc<WebFile>,
    name: Option<PathBuf>,
}

impl PartialEq for Web {
    fn eq(&self, other: &Web) -> bool {
        self.url == other.url
    }
}

impl Eq for Web {}

impl fmt::Display for Web {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.url.fmt(out)
    }
}

impl Web {
    pub fn new(url: WebUrl) -> Web {
        Web { url, found: Arc::default() }
    }

    /// This URL, not looked at yet: what was opened belongs to the run that did it, and ends with its stop.
    pub fn unopened(&self) -> Web {
        Web::new(self.url.clone())
    }

    /// The file at this URL: the first call opens it, each further one gets that file, or that fault.
    pub fn open(&self, patience: WebPatience, stop: &Arc<AtomicBool>) -> Result<Arc<WebFile>, Problem> {
        let found = self.found.get_or_init(|| {
            let file = WebFile::open(&self.url, patience, stop)?;
            // What a server chooses is none of the names that mean something here.
            let name = file.url().file_name().filter(|name| !name.as_bytes().starts_with(OURS));
            Ok(WebFound { file: Arc::new(file), name: name.map(PathBuf::from) })
        });
        found
            .as_ref()
            .map(|found| Arc::clone(&found.file))
            .map_err(|fault| self.problem(Operation::Open, fault))
    }

    /// It, where it was looked at before.
    pub fn opened(&self) -> Option<&Arc<WebFile>> {
        Some(&self.found.get()?.as_ref().ok()?.file)
    }

    /// It comes in one stream, and not a second time: what was compared could not be copied after all.
    pub fn is_read_once(&self) -> bool {
        self.opened().is_some_and(|file| !file.has_ranges())
    }

    /// What the URL that the user named says of its name: redirects may lead to another.
    pub fn named(&self) -> Option<OsString> {
        self.url.file_name()
    }

    /// Under which its copy is put into a folder, once it was looked at.
    pub fn name(&self) -> Option<&Path> {
        self.found.get()?.as_ref().ok()?.name.as_deref()
    }

    pub fn problem(&self, operation: Operation, fault: &WebFault) -> Problem {
        Problem::new(fault.class, operation, Path::new(&self.to_string()), &fault.words)
    }
}

/// What it is, in the terms of a file. One whose size is not told is a stream; nobody tells its owner, and a time that
/// nobody tells is now.
pub fn meta(file: &WebFile) -> Meta {
    let now_ns = || {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        since.map_or(0, |since| since.as_nanos() as i128)
    };
    let mtime_ns = file.modified_ns().unwrap_or_else(now_ns);
    let size_bytes = file.bytes().unwrap_or(0);
    Meta {
        device: 0,
        inode: file.number(),
        kind: if file.has_ranges() || file.bytes().is_some() { FileKind::Regular } else { FileKind::Fifo },
        size_bytes,
        allocated_bytes: size_bytes,
        links: 1,
        mode: 0o666 & !umask(),
        uid: rustix::process::geteuid().as_raw(),
        gid: rustix::process::getegid().as_raw(),
        atime_ns: mtime_ns,
        mtime_ns,
        ctime_ns: 0,
        special_device: 0,
        generation: 0,
        handle: 0,
    }
}
