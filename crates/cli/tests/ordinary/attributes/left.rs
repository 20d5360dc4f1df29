//! What `--no-preserve` leaves as it is at the target, of pipes and links too. No program runs as somebody else.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown, lchown};

use crate::support::{Home, expect, is_root, make_fifo, make_folder, make_symlink, set_mode};

fn mode(home: &Home, name: &str) -> u32 {
    home.path(name).symlink_metadata().expect("it is there").mode() & 0o7777
}

#[test]
fn what_is_not_kept_of_a_pipe_or_link_stays_as_it_is_at_the_target() {
    let home = Home::new();
    for (folder, mode) in [("from", 0o600), ("to", 0o640)] {
        make_folder(&home, folder);
        make_fifo(&home.path(format!("{folder}/pipe")));
        set_mode(&home.path(format!("{folder}/pipe")), mode);
        make_symlink(&home, "somewhere", &format!("{folder}/link"));
    }
    if is_root() {
        lchown(home.path("to/link"), Some(1234), Some(4321)).expect("root");
    }
    let stood = home.path("to/link").symlink_metadata().expect("it was made");
    expect(&home.pump(&["copy", "--no-preserve=mode,ownership", "from/.", "to"]), 0, &[], "over what stands");
    assert_eq!(mode(&home, "to/pipe"), 0o640);
    let link = home.path("to/link").symlink_metadata().expect("it was copied");
    assert_eq!((link.uid(), link.gid()), (stood.uid(), stood.gid()));
    assert_ne!(link.ino(), stood.ino(), "it was made anew");
}

#[test]
fn where_owners_are_left_alone_a_program_keeps_its_set_id_bits_only_with_the_same_owner() {
    if !is_root() {
        return eprintln!("not tested: only root gives files away");
    }
    let home = Home::new();
    for (source, stands, expected) in
        [(0, None, 0o4755), (1234, Some(1234), 0o4755), (0, Some(1234), 0o755), (1234, None, 0o755)]
    {
        let row = format!("source {source}, target {stands:?}");
        fs::write(home.path("program"), "new").expect("room");
        chown(home.path("program"), Some(source), Some(source)).expect("root");
        set_mode(&home.path("program"), 0o4755);
        let _ = fs::remove_file(home.path("copy"));
        if let Some(owner) = stands {
            fs::write(home.path("copy"), "old").expect("room");
            chown(home.path("copy"), Some(owner), Some(owner)).expect("root");
        }
        let told = if expected == 0o755 { &["set-user-id"][..] } else { &[] };
        expect(&home.pump(&["copy", "--no-preserve=ownership", "program", "copy"]), 0, told, &row);
        assert_eq!(mode(&home, "copy"), expected, "{row}");
        assert_eq!(home.path("copy").metadata().expect("it was copied").uid(), stands.unwrap_or(0), "{row}");
    }
}
