//! Files that the user names: read in such a way that a stop ends it, and replaced in one step only by their like.
//!
//! Must not know: what is in them.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use anyhow::{Context, bail};

/// No text that people write is longer; /dev/zero is.
const TEXT_BYTES_MAX: u64 = 16 << 20;
/// Signals are answered within a second.
const STEP: Duration = Duration::from_millis(100);

/// The text of a file or a pipe. The writer of a pipe may never come: once `stop` is set it is no longer waited for.
pub fn read_text(path: &Path, stop: &AtomicBool) -> io::Result<String> {
    let path = path.to_path_buf();
    let (tell, told) = mpsc::channel();
    // It may outlive this call, waiting for a pipe; then nobody listens to it.
    std::thread::spawn(move || tell.send(bounded(&path)));
    loop {
        match told.recv_timeout(STEP) {
            Ok(text) => return text,
            Err(RecvTimeoutError::Timeout) if !stop.load(Ordering::Relaxed) => {}
            Err(_) => return Err(ErrorKind::Interrupted.into()),
        }
    }
}

fn bounded(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(TEXT_BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > TEXT_BYTES_MAX {
        Err(io::Error::new(ErrorKind::FileTooLarge, "it is longer than 16 MiB"))
    } else {
        Ok(text)
    }
}

/// Refuses a pipe: rows are read back from where they are appended.
pub fn refuse_pipe(path: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::FileTypeExt;
    if fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo()) {
        bail!("{} is a pipe; name a file, to which rows can be appended", path.display())
    } else {
        Ok(())
    }
}

/// Puts a file in the place of one of its kind, or where nothing stands: whole, or not at all. A path that is no file
/// (a terminal, /dev/null) is written to.
///
/// Errors: another file stands there, a folder, or what the system says; nothing is changed then.
pub fn replace(path: &Path, bytes: &[u8], kind: &str, is_kind: &dyn Fn(&[u8]) -> bool) -> anyhow::Result<()> {
    let write = || format!("write {}", path.display());
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => bail!("{} is a folder; name a file", path.display()),
        Ok(there) if !there.is_file() => return fs::write(path, bytes).with_context(write),
        Ok(there) if there.len() > 0 && !is_kind(&fs::read(path).with_context(write)?) => {
            bail!("{} is there and is no {kind}; name another file, or remove it first", path.display())
        }
        _ => {}
    }
    // Through a link to where it leads.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let part = part_of(&path);
    let written = fs::write(&part, bytes).and_then(|()| fs::rename(&part, &path));
    written
        .inspect_err(|_| {
            let _ = fs::remove_file(&part);
        })
        .with_context(write)
}

fn part_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.part", std::process::id()));
    path.with_file_name(name)
}

/// Whether two names are of one file, by whatever links.
pub fn is_same(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let number = |path: &Path| fs::metadata(path).ok().map(|it| (it.dev(), it.ino()));
    number(one).zip(number(other)).is_some_and(|(one, other)| one == other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_page(bytes: &[u8]) -> bool {
        bytes.starts_with(b"<page>")
    }

    #[test]
    fn only_its_like_is_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::write(at("rows"), "{}").expect("room");
        fs::write(at("old"), "<page>1").expect("room");
        fs::write(at("empty"), "").expect("room");
        fs::create_dir(at("folder")).expect("room");
        std::os::unix::fs::symlink(at("old"), at("link")).expect("room");
        for (name, refused) in [
            ("new", None),
            ("old", None),
            ("link", None),
            ("empty", None),
            ("rows", Some("is no page")),
            ("folder", Some("is a folder")),
            ("no/such", Some("write ")),
        ] {
            let written = replace(&at(name), b"<page>2", "page", &is_page);
            match refused {
                None => assert_eq!(fs::read(at(name)).expect("written"), b"<page>2", "{name}"),
                Some(words) => assert!(format!("{:#}", written.expect_err(name)).contains(words), "{name}"),
            }
        }
        assert_eq!(fs::read(at("rows")).expect("as it was"), b"{}");
        assert!(at("link").is_symlink());
        let parts = fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(parts, 6, "new, old, link, empty, rows, folder");
    }

    #[test]
    fn a_pipe_without_a_writer_is_given_up_and_endless_text_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)
            .expect("a pipe");
        let error = read_text(&pipe, &AtomicBool::new(true)).expect_err("nobody writes");
        assert_eq!(error.kind(), ErrorKind::Interrupted);
        assert!(refuse_pipe(&pipe).is_err() && refuse_pipe(folder.path()).is_ok());
        let error = read_text(Path::new("/dev/zero"), &AtomicBool::new(false)).expect_err("endless");
        assert!(error.to_string().contains("longer"), "{error}");
    }

    #[test]
    fn one_file_by_two_names_is_the_same() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::write(at("one"), "").expect("room");
        fs::hard_link(at("one"), at("two")).expect("room");
        fs::write(at("three"), "").expect("room");
        assert!(is_same(&at("one"), &at("two")));
        assert!(!is_same(&at("one"), &at("three")) && !is_same(&at("none"), &at("none")));
    }
}
