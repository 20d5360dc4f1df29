//! docs/backup.md, word by word: its blocks run in a mount namespace of their own, the night's line in the empty
//! environment that cron gives.

use std::fs;
use std::process::Command;

use crate::support::home::outcome;
use crate::support::{Home, PUMP, expect, is_root, set_mode};

/// What the page takes for granted.
const GIVEN: &str = r#"
for FOLDER in /srv /backup /usr/local /run/lock; do mkdir -p $FOLDER; mount -t tmpfs none $FOLDER; done
mkdir -p /usr/local/bin /usr/local/sbin /srv/data/etc /srv/data/doc
ln -s "$PUMP" /usr/local/bin/pump
cp "$PAGE/script" /usr/local/sbin/nightly
PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
echo a=1 > /srv/data/etc/app.conf; echo one > /srv/data/doc/1; echo two > /srv/data/doc/2
LINE=$(grep -v = "$PAGE/cron" | cut -d ' ' -f 7-)
night() {
  STATUS=0
  env -i HOME=/root LOGNAME=root SHELL=/bin/sh PATH=/usr/bin:/bin sh -c "$LINE" || STATUS=$?
}
is() { [ "$1" = "$2" ] || { echo "$3: '$1', not '$2'"; exit 1; }; }
"#;

/// The page, and what comes of it.
const FOLLOWED: &str = r#"
pump mirror /srv/data/ /backup/nightly/data && exit 1
is "$(ls /backup)" "" "without the folder on the disk"
. "$PAGE/once"
rm /srv/data/doc/2
night; is $STATUS 0 "a night"
is "$(ls /backup/nightly/data/doc)" 1 "what is gone"
exec 9> /run/lock/nightly; flock 9
night; is $STATUS 75 "the night before is not done"
exec 9>&-
mount -t tmpfs none /srv/data; night; umount /srv/data; is $STATUS 1 "the source is not mounted"
mount -t tmpfs none /backup; night; is "$(ls -A /backup)" "" "written below the mount"; umount /backup
is $STATUS 1 "the backup is not mounted"
is "$(ls /backup/nightly/data)" "doc
etc" "what is there then"
. "$PAGE/first"; cp "$PAGE/snapshot" /usr/local/sbin/snapshot
day=$(date +%F); snapshot() { STATUS=0; env -i /usr/local/sbin/snapshot || STATUS=$?; }
snapshot; is "$STATUS $(readlink /backup/nightly/latest)" "0 $day" "a snapshot"
mv /backup/nightly/$day /backup/nightly/2020-01-01; ln -sfn 2020-01-01 /backup/nightly/latest
for DAY in $(seq 10 30); do mkdir /backup/nightly/2019-01-$DAY; done
mount -t tmpfs none /srv/data; snapshot; umount /srv/data
is "$STATUS $(readlink /backup/nightly/latest)" "1 2020-01-01" "nothing to take a snapshot of"
rm /usr/local/bin/pump; ln -s /usr/bin/false /usr/local/bin/pump; snapshot; rm /usr/local/bin/pump
is "$STATUS $(ls -d /backup/nightly/20* | wc -l)" "1 22" "a night that failed removes none"
ln -s "$PUMP" /usr/local/bin/pump
echo other > /srv/data/doc/1
snapshot; is $STATUS 0 "the next snapshot"
is "$(ls -d /backup/nightly/20* | wc -l)" 14 "days that stay"
is "$(cat /backup/nightly/2020-01-01/doc/1 /backup/nightly/$day/doc/1)" "one
other" "each its own"
is "$(stat -c %h /backup/nightly/$day/etc/app.conf)" 3 "names of what did not change"
rm /srv/data/etc/app.conf
. "$PAGE/restore"; is $? 0 "all of it is there"
is "$(cat /srv/data/etc/app.conf)" a=1 "one file"
"#;

#[test]
fn the_page_holds_word_by_word() {
    if !is_root() {
        eprintln!("not tested: only root mounts");
        return;
    }
    let page =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/backup.md")).expect("the page");
    let home = Home::new();
    let blocks: Vec<&str> = page.split("```\n").skip(1).step_by(2).collect();
    let names = ["once", "script", "cron", "service", "timer", "far", "first", "snapshot", "restore"];
    assert_eq!(blocks.len(), names.len(), "{blocks:?}");
    for (name, block) in names.into_iter().zip(&blocks) {
        fs::write(home.path(name), block).expect("room");
    }
    ["script", "snapshot"].iter().for_each(|name| set_mode(&home.path(name), 0o755));
    let mut command = Command::new("unshare");
    command.args(["-m", "--propagation", "private", "sh", "-c", &format!("{GIVEN}{FOLLOWED}")]);
    command.env("PUMP", PUMP).env("PAGE", home.path("")).current_dir(home.path(""));
    expect(&outcome(command, b""), 0, &[], "docs/backup.md");
}
