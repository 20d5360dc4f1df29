//! A name of a local file that holds a colon is read as a place on another host. When that host is not reached, the
//! words say how the file is written.
//!
//! Must not know: why the host was not reached.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use datapump_transport::{Host, NetFault, SshHost};

use crate::place::Remote;

/// The fault, with what the word may have meant.
pub(crate) fn with_local_name(fault: NetFault, remote: &Remote) -> NetFault {
    let Some(path) = local_path(remote) else { return fault };
    let (is_there, shown) = (path.symlink_metadata().is_ok(), datapump_core::problem::shown_path(&path));
    let local = if is_there {
        format!("a file of that name is here: it is written ./{shown}")
    } else {
        format!("a local path with a colon is written ./{shown}")
    };
    match fault {
        NetFault::Unreached(words) if is_there || resembles_name(&path) => {
            NetFault::Unreached(format!("{words}; {local}"))
        }
        NetFault::Refused(words) if is_there => NetFault::Refused(format!("{words}; {local}")),
        fault => fault,
    }
}

/// How to write a place that is meant to be a local file, if one of that name is here.
pub(crate) fn local_spelling(remote: &Remote) -> Option<String> {
    let path = local_path(remote).filter(|path| path.symlink_metadata().is_ok())?;
    let shown = datapump_core::problem::shown_path(&path);
    Some(format!("; the file '{shown}' that is here is written ./{shown}"))
}

/// `host:path` as a path of this host.
fn local_path(remote: &Remote) -> Option<PathBuf> {
    let Host::Ssh(SshHost { name, port: None }) = &remote.host else { return None };
    let bytes = [name.as_bytes(), b":", remote.path.as_os_str().as_bytes()].concat();
    Some(PathBuf::from(OsStr::from_bytes(&bytes)))
}

/// A user, a path from the root or none at all is named on a host.
fn resembles_name(path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes();
    !bytes.contains(&b'@') && !bytes.ends_with(b":") && !bytes.windows(2).any(|pair| pair == b":/")
}
