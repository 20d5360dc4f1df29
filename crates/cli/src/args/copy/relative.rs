//! `--relative`: the folder that all sources lie in, and their paths in it.
//!
//! Must not know: how names are selected.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use datapump::{Place, Remote};

/// The one folder, named as its content, and the names in it, each behind a zero byte but the first.
pub fn relative(sources: &[Place]) -> Result<(Place, Vec<u8>), String> {
    let mut parts = Vec::new();
    for source in sources {
        parts.push(parted(source)?);
    }
    let Some((root, _)) = parts.first() else { return Err("--relative: there is no source".into()) };
    if let Some((other, _)) = parts.iter().find(|(other, _)| other != root) {
        return Err(format!(
            "--relative: the sources begin in several folders ('{root}', '{other}'); copy from one after the other"
        ));
    }
    let names = parts.iter().map(|(_, name)| name.as_slice()).collect::<Vec<_>>().join(&0);
    Ok((parts.swap_remove(0).0, names))
}

/// The folder that a source's path begins in, and its path there.
fn parted(source: &Place) -> Result<(Place, Vec<u8>), String> {
    let (path, place): (&Path, &dyn Fn(PathBuf) -> Place) = match source {
        Place::Path(path) => (path, &Place::Path),
        Place::Remote(remote) => (&remote.path, &|path| Place::Remote(Remote { path, ..remote.clone() })),
        _ => return Err(format!("--relative: '{source}' has no path")),
    };
    let bytes = path.as_os_str().as_bytes();
    let cut = bytes.windows(3).position(|three| three == b"/./");
    let (root, name) = match (cut, bytes) {
        (Some(at), _) => ([&bytes[..at], b"/."].concat(), &bytes[at + 3..]),
        (None, [b'/', rest @ ..]) => (b"/".to_vec(), rest),
        (None, bytes) => (b".".to_vec(), bytes),
    };
    if name.split(|&byte| byte == b'/').any(|name| name == b"..") {
        return Err(format!("--relative: '{source}' has '..' in the path that is copied; write it without"));
    }
    // `/./` further on means nothing, and `from/./` is all that is in it.
    let names = name.split(|&byte| byte == b'/').filter(|name| !name.is_empty() && *name != b".");
    let mut path = names.collect::<Vec<_>>().join(&b'/');
    if path.is_empty() || name.ends_with(b"/") || name.ends_with(b"/.") {
        path.extend_from_slice(if path.is_empty() { b"./" } else { b"/" });
    }
    Ok((place(OsStr::from_bytes(&root).into()), path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(word: &str) -> Place {
        Place::parse(OsStr::new(word)).expect("a place")
    }

    #[test]
    fn sources_are_parted_where_their_path_begins() {
        for (words, root, names) in [
            (&["a/b/c"][..], ".", "a/b/c"),
            (&["a/b/", "d"], ".", "a/b/\0d"),
            (&["/a/b", "/c"], "/", "a/b\0c"),
            (&["x/y/./a/b"], "x/y/.", "a/b"),
            (&["x/./a/./b//c/"], "x/.", "a/b/c/"),
            (&["x/./"], "x/.", "./"),
            (&["/x/./a", "/x/./b"], "/x/.", "a\0b"),
            (&["host:a/b", "host:c"], "host:.", "a/b\0c"),
            (&["pump://host:1/a/b"], "pump://host:1/.", "a/b"),
        ] {
            let places: Vec<Place> = words.iter().map(|word| place(word)).collect();
            assert_eq!(relative(&places), Ok((place(root), names.as_bytes().to_vec())), "{words:?}");
        }
        for words in [&["a", "/b"][..], &["host:a", "other:a"], &["-"], &["../a"], &["a/../b"], &[]] {
            let places: Vec<Place> = words.iter().map(|word| place(word)).collect();
            relative(&places).expect_err("refused");
        }
    }
}
