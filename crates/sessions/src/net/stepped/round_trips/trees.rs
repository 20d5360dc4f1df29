//! Trees of any size, and what an earlier copy left of them at the target.
//!
//! Must not know: which command is run on them.

use super::*;

/// How large a tree is, and how much of it a command deals with.
#[derive(Clone, Copy, Debug)]
pub(super) struct TreeSize {
    /// Folders that lie in one another.
    pub(super) depth: u64,
    /// Folders below the first.
    pub(super) folders: u64,
    pub(super) files: u64,
    /// Of these files.
    pub(super) changed: u64,
    /// Names that only the target has.
    pub(super) deleted: u64,
}

pub(super) const FROM: &str = "from";
pub(super) const TO: &str = "to";
/// An older copy, for `--link-dest`.
pub(super) const BEFORE: &str = "before";

/// All folders, the first one included.
fn folders_of(size: &TreeSize) -> Vec<String> {
    let mut folders = vec![String::new()];
    for level in 0..size.depth as usize {
        folders.push(format!("{}level-{level}/", folders[level]));
    }
    folders.extend((size.depth..size.folders).map(|number| format!("beside-{number}/")));
    folders
}

/// Files are dealt to the folders in turn.
fn files_of(size: &TreeSize) -> Vec<String> {
    let folders = folders_of(size);
    let name = |number: usize| format!("{}file-{number}", folders[number % folders.len()]);
    (0..size.files as usize).map(name).collect()
}

/// Those that a command deals with.
pub(super) fn changed_of(size: &TreeSize) -> Vec<String> {
    files_of(size).into_iter().take(size.changed as usize).collect()
}

fn each_changed(stage: &TwoHosts, size: &TreeSize, act: impl Fn(&Path)) {
    changed_of(size).iter().for_each(|name| act(&stage.path(FROM).join(name)));
}

/// As `pump copy` leaves it.
fn copied(stage: &TwoHosts, target: &str) {
    std::thread::sleep(YOUNG);
    let (from, to) = (Place::Path(stage.path(FROM)), Place::Path(stage.path(target)));
    let report = HostJob::copy(vec![from], to).options(stage.options()).run_reported(&|_| {});
    assert_eq!(report.exit_status, 0, "{target}");
}

pub(super) fn folders(stage: &TwoHosts, size: &TreeSize) {
    for folder in folders_of(size) {
        fs::create_dir_all(stage.path(FROM).join(folder)).expect("room");
    }
}

pub(super) fn new(stage: &TwoHosts, size: &TreeSize) {
    folders(stage, size);
    for (number, name) in files_of(size).iter().enumerate() {
        write_source(&stage.path(FROM).join(name), &noise(1000 + number));
    }
}

/// A tree that was copied.
fn then_copied(make: fn(&TwoHosts, &TreeSize), stage: &TwoHosts, size: &TreeSize) {
    make(stage, size);
    copied(stage, TO);
}

pub(super) fn same(stage: &TwoHosts, size: &TreeSize) {
    then_copied(new, stage, size);
}

/// Size and time are not what they were.
pub(super) fn changed(stage: &TwoHosts, size: &TreeSize) {
    same(stage, size);
    each_changed(stage, size, |path| write_source(path, &noise(2000)));
}

/// Content alone is not what it was.
pub(super) fn other_content(stage: &TwoHosts, size: &TreeSize) {
    same(stage, size);
    for name in changed_of(size) {
        let path = stage.path(TO).join(name);
        let time = fs::metadata(&path).and_then(|meta| meta.modified()).expect("it is there");
        let mut bytes = fs::read(&path).expect("it is there");
        bytes[50] ^= 1;
        fs::write(&path, bytes).expect("room");
        let file = fs::File::options().write(true).open(&path).expect("it is there");
        file.set_modified(time).expect("it is ours");
    }
}

pub(super) fn too_many(stage: &TwoHosts, size: &TreeSize) {
    same(stage, size);
    add_names(stage, size);
}

pub(super) fn changed_and_too_many(stage: &TwoHosts, size: &TreeSize) {
    changed(stage, size);
    add_names(stage, size);
}

/// A folder is in the place of each changed file.
pub(super) fn folders_in_the_way(stage: &TwoHosts, size: &TreeSize) {
    too_many(stage, size);
    for name in changed_of(size) {
        let path = stage.path(TO).join(name);
        fs::remove_file(&path).and_then(|()| fs::create_dir(&path)).expect("it was copied");
        fs::write(path.join("in it"), "too much").expect("room");
    }
}

fn add_names(stage: &TwoHosts, size: &TreeSize) {
    let folders = folders_of(size);
    for number in 0..size.deleted as usize {
        let folder = stage.path(TO).join(&folders[number % folders.len()]);
        fs::write(folder.join(format!("gone-{number}")), "gone").expect("room");
    }
}

/// Each with a name in it.
pub(super) fn too_many_folders(stage: &TwoHosts, size: &TreeSize) {
    same(stage, size);
    for number in 0..size.deleted {
        let folder = stage.path(TO).join(format!("gone-{number}"));
        fs::create_dir(&folder).expect("room");
        fs::write(folder.join("in it"), "gone").expect("room");
    }
}

pub(super) fn snapshot(stage: &TwoHosts, size: &TreeSize) {
    new(stage, size);
    copied(stage, BEFORE);
}

pub(super) fn changed_since_snapshot(stage: &TwoHosts, size: &TreeSize) {
    snapshot(stage, size);
    each_changed(stage, size, |path| write_source(path, &noise(2000)));
}

pub(super) fn file(stage: &TwoHosts, _: &TreeSize) {
    write_source(&stage.path(FROM), &noise(8000));
}

pub(super) fn file_same(stage: &TwoHosts, size: &TreeSize) {
    then_copied(file, stage, size);
}

pub(super) fn file_changed(stage: &TwoHosts, size: &TreeSize) {
    file_same(stage, size);
    write_source(&stage.path(FROM), &noise(9000));
}

/// A block for each of the files.
pub(super) fn large_file(stage: &TwoHosts, size: &TreeSize) {
    write_source(&stage.path(FROM), &noise(size.files as usize * super::REQUEST_BYTES as usize));
}

/// The changed ones are as long as four requests.
pub(super) fn long_files(stage: &TwoHosts, size: &TreeSize) {
    new(stage, size);
    each_changed(stage, size, |path| write_source(path, &noise(4 * super::REQUEST_BYTES as usize)));
}

pub(super) fn long_files_same(stage: &TwoHosts, size: &TreeSize) {
    then_copied(long_files, stage, size);
}

/// The changed ones have another mode.
pub(super) fn other_modes(stage: &TwoHosts, size: &TreeSize) {
    same(stage, size);
    for name in changed_of(size) {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(stage.path(TO).join(name), mode).expect("it is ours");
    }
}

/// Files that are named one by one, in a folder.
pub(super) fn named_files(stage: &TwoHosts, size: &TreeSize) {
    fs::create_dir(stage.path(FROM)).expect("room");
    fs::create_dir(stage.path(TO)).expect("room");
    for name in names_of(size) {
        write_source(&stage.path(&name), &noise(8000));
    }
}

/// That were copied.
pub(super) fn named_files_same(stage: &TwoHosts, size: &TreeSize) {
    named_files(stage, size);
    std::thread::sleep(YOUNG);
    let named = names_of(size).iter().map(|name| Place::Path(stage.path(name))).collect();
    let into = stage.options().with(|it| {
        it.place.target_is_name = false;
        it.place.target_is_folder = true;
    });
    let report = HostJob::copy(named, Place::Path(stage.path(TO))).options(into).run_reported(&|_| {});
    assert_eq!(report.exit_status, 0);
}

pub(super) fn names_of(size: &TreeSize) -> Vec<String> {
    (0..size.files).map(|number| format!("{FROM}/file-{number}")).collect()
}

pub(super) fn empty_files(stage: &TwoHosts, size: &TreeSize) {
    folders(stage, size);
    for name in files_of(size) {
        fs::write(stage.path(FROM).join(name), "").expect("room");
    }
}

/// Into folders that exist.
pub(super) fn empty_files_into_folders(stage: &TwoHosts, size: &TreeSize) {
    then_copied(folders, stage, size);
    empty_files(stage, size);
}

pub(super) fn empty_files_same(stage: &TwoHosts, size: &TreeSize) {
    then_copied(empty_files, stage, size);
}

/// Two names each.
pub(super) fn hard_links(stage: &TwoHosts, size: &TreeSize) {
    new(stage, size);
    each_changed(stage, size, |path| fs::hard_link(path, path.with_extension("again")).expect("room"));
}

pub(super) fn hard_links_same(stage: &TwoHosts, size: &TreeSize) {
    then_copied(hard_links, stage, size);
}

pub(super) fn holes(stage: &TwoHosts, size: &TreeSize) {
    new(stage, size);
    each_changed(stage, size, |path| {
        let file = fs::File::options().write(true).open(path).expect("it was made");
        file.set_len(1 << 15).expect("a hole");
    });
}

pub(super) fn holes_same(stage: &TwoHosts, size: &TreeSize) {
    then_copied(holes, stage, size);
}

/// A link and a pipe beside each.
pub(super) fn specials(stage: &TwoHosts, size: &TreeSize) {
    new(stage, size);
    each_changed(stage, size, |path| {
        std::os::unix::fs::symlink("file-0", path.with_extension("link")).expect("room");
        let (pipe, kind) = (path.with_extension("pipe"), rustix::fs::FileType::Fifo);
        rustix::fs::mknodat(rustix::fs::CWD, pipe, kind, 0o600.into(), 0).expect("room");
    });
}

pub(super) fn specials_same(stage: &TwoHosts, size: &TreeSize) {
    then_copied(specials, stage, size);
}

pub(super) fn attributed_files(stage: &TwoHosts, size: &TreeSize) {
    new(stage, size);
    each_changed(stage, size, attribute);
}

pub(super) fn attributed_files_same(stage: &TwoHosts, size: &TreeSize) {
    then_copied(attributed_files, stage, size);
}

/// All folders, with files in them.
pub(super) fn attributed_folders(stage: &TwoHosts, size: &TreeSize) {
    new(stage, size);
    folders_of(size).iter().for_each(|folder| attribute(&stage.path(FROM).join(folder)));
}

pub(super) fn attributed_folders_same(stage: &TwoHosts, size: &TreeSize) {
    then_copied(attributed_folders, stage, size);
}

/// An extended attribute, and an access control list with one user more.
fn attribute(path: &Path) {
    let nobody = u32::MAX;
    let entries = [(1u16, 6u16, nobody), (2, 4, 12), (4, 4, nobody), (0x10, 4, nobody), (0x20, 4, nobody)];
    let mut list = 2u32.to_le_bytes().to_vec();
    for (tag, permissions, id) in entries {
        list.extend([tag.to_le_bytes(), permissions.to_le_bytes()].concat());
        list.extend(id.to_le_bytes());
    }
    for (name, value) in [("user.colour", &b"blue"[..]), ("system.posix_acl_access", &list)] {
        rustix::fs::setxattr(path, name, value, rustix::fs::XattrFlags::empty()).expect("it can have one");
    }
}
