//! Deep chains of folders: none is dropped by recursion.

use datapump_files::opened_folders::OPEN;

use crate::folder::side::*;

/// A folder, and so many others nested in it. `.` stands for each: they need not be made.
fn nested(levels: usize) -> Arc<FolderSide> {
    let root = File::open("/").expect("it is there");
    let root = FolderSide::root(Path::new("/here"), root, &Keeper::new(8)).expect("a folder");
    (0..levels).fold(root, |above, _| above.child(OsStr::new(".")).expect("a folder"))
}

#[test]
fn a_path_is_joined_from_the_names_of_its_folders() {
    let (root, below) = (nested(0), nested(3));
    assert_eq!((root.path(), root.relative()), ("/here".into(), PathBuf::new()));
    assert_eq!(below.path_of(OsStr::new("file")).as_os_str(), "/here/./././file");
    assert_eq!(below.relative().as_os_str(), "././.");
    assert_eq!(below.path_below(Path::new("to")).as_os_str(), "to/././.");
}

#[derive(Debug)]
struct OpensFolder(PathBuf);

impl OpensRoot for OpensFolder {
    fn open_root(&self) -> Result<File, Errno> {
        File::open(&self.0).map_err(|error| Errno(error.raw_os_error().unwrap_or(5)))
    }
}

#[test]
fn a_root_of_many_is_closed_and_opened_again_as_the_same_folder() {
    let home = tempfile::tempdir().expect("a folder");
    let (path, keeper) = (home.path().join("root"), Keeper::new(1));
    std::fs::create_dir_all(path.join("below")).expect("room");
    let opens = OpensFolder(path.clone());
    let file = opens.open_root().expect("it is there");
    let root = FolderSide::reopenable_root(&path, file, Arc::new(opens), &keeper).expect("a folder");
    let below = root.child(OsStr::new("below")).expect("it is there");
    assert!(root.if_open().is_none(), "only the folder that was used last is open");
    assert!(root.file().is_ok() && below.file().is_ok());
    std::fs::rename(&path, home.path().join("moved")).expect("one folder");
    std::fs::create_dir(&path).expect("room");
    keeper.keep(&Arc::new(File::open("/").expect("it is there")));
    let problem = root.file().expect_err("another folder stands there");
    assert_eq!(problem.class, Class::Changed, "{problem}");
}

#[test]
fn a_chain_that_is_longer_than_the_stack_is_dropped() {
    let thread = std::thread::Builder::new().stack_size(64 << 10).spawn(|| drop(nested(20_000)));
    thread.expect("a thread").join().expect("no overflow");
}

#[test]
fn a_closed_folder_is_open_for_all_lanes_that_find_it_closed() {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().expect("a folder");
    std::fs::set_permissions(home.path(), PermissionsExt::from_mode(0o555)).expect("it is ours");
    let file = File::open(home.path()).expect("it is there");
    let side = FolderSide::root(home.path(), file, &Keeper::new(8)).expect("a folder");
    std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..4).map(|_| scope.spawn(|| side.open_up())).collect();
        assert!(lanes.into_iter().all(|lane| lane.join().expect("no panic")));
    });
    let mode = std::fs::metadata(home.path()).expect("it is there").permissions().mode();
    assert_eq!(mode & OPEN, OPEN);
}
