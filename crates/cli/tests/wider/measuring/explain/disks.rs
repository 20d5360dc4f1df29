//! Limits of disks: a slow one, one that syncs each write, a control group's own limit of reads, writes and memory.
//!
//! Must not know: what is right of them.

use super::scene::{Bench, CopyWay, LimitState, Scene};
use crate::wider_parts::mounts::sparse_file;
use crate::wider_parts::program;
use crate::wider_parts::throttle::{Quota, SlowDisk, device_of};

/// Rate of a throttled disk.
const SLOW_BYTES_PER_SECOND: u64 = 8 << 20;
/// More than any disk here moves.
const FREE_BYTES_PER_SECOND: u64 = 64 << 30;

/// The disk gives some MB/s.
pub(super) fn slow_source(bench: &Bench, _: CopyWay, state: LimitState) -> Option<Scene> {
    let scene = Scene { from: bench.disk.at("from"), ..Scene::new(bench) };
    if state == LimitState::Off {
        return Some(scene);
    }
    let slow = SlowDisk::new(&device_of(&bench.disk.point()), "read", SLOW_BYTES_PER_SECOND)?;
    Some(scene.guarded(slow))
}

/// A slow source whose data all go through the connection of ssh.
pub(super) fn slow_source_within_ssh(bench: &Bench, way: CopyWay, state: LimitState) -> Option<Scene> {
    slow_source(bench, way, state).map(|scene| Scene { flags: vec!["--within-ssh"], ..scene })
}

/// The disk takes some MB/s.
pub(super) fn slow_sink(bench: &Bench, _: CopyWay, state: LimitState) -> Option<Scene> {
    let scene = Scene { to: bench.disk.at("to"), ..Scene::new(bench) };
    if state == LimitState::Off {
        return Some(scene);
    }
    Some(scene.guarded(SlowDisk::for_writes(&device_of(&bench.disk.point()), SLOW_BYTES_PER_SECOND)?))
}

/// The page cache takes all of the copy, which then waits until the disk has it.
pub(super) fn slow_sync(bench: &Bench, _: CopyWay, state: LimitState) -> Option<Scene> {
    let scene = Scene { to: bench.disk.at("to"), flags: vec!["--direct=never"], ..Scene::new(bench) };
    if state == LimitState::Off {
        return Some(scene);
    }
    let slow = SlowDisk::new(&device_of(&bench.disk.point()), "write", SLOW_BYTES_PER_SECOND)?;
    Some(scene.guarded(slow))
}

/// A file system that syncs each write, on a disk that is not slow otherwise.
struct SyncingMount {
    point: String,
}

impl SyncingMount {
    fn new(point: String) -> SyncingMount {
        program(&["mount", "-o", "remount,sync", &point]);
        SyncingMount { point }
    }
}

impl Drop for SyncingMount {
    fn drop(&mut self) {
        program(&["mount", "-o", "remount,async", &self.point]);
    }
}

/// Each write is on the platter before the next begins.
pub(super) fn syncing_sink(bench: &Bench, _: CopyWay, state: LimitState) -> Option<Scene> {
    let flags = vec!["--request-size", "64KiB"];
    let scene = Scene { to: bench.disk.at("to"), flags, ..Scene::new(bench) };
    Some(match state {
        LimitState::On => scene.guarded(SyncingMount::new(bench.disk.point())),
        LimitState::Off => scene,
    })
}

/// Rate that a control group may move.
fn group_bytes_per_second(state: LimitState) -> u64 {
    if state == LimitState::On { SLOW_BYTES_PER_SECOND } else { FREE_BYTES_PER_SECOND }
}

/// The group of the program that reads may read some MB/s.
pub(super) fn group_reads(bench: &Bench, way: CopyWay, state: LimitState) -> Option<Scene> {
    let device = device_of(&bench.disk.point());
    let quota = Quota::of_reads(&device, group_bytes_per_second(state))?;
    let scene = Scene { from: bench.disk.at("from"), ..Scene::new(bench) };
    Some(scene.behind(way.reads_here(), quota.words()).guarded(quota))
}

/// The group of the program that writes may write some MB/s.
pub(super) fn group_writes(bench: &Bench, way: CopyWay, state: LimitState) -> Option<Scene> {
    let device = device_of(&bench.disk.point());
    let quota = Quota::of_writes(&device, group_bytes_per_second(state))?;
    // What the kernel writes out of the cache later is in no group of version 1: such a copy has no limit.
    let flags = vec!["--direct=always"];
    let scene = Scene { to: bench.disk.at("to"), flags, ..Scene::new(bench) };
    Some(scene.behind(way.writes_here(), quota.words()).guarded(quota))
}

/// Memory of a group: the program's own, and page cache for a quarter of the file.
const GROUP_MEMORY_BYTES: u64 = 64 << 20;
/// Rate of the disk that is waited for where memory is short.
const MEMORY_BYTES_PER_SECOND: u64 = 32 << 20;

/// A file system on a file of the throttled disk: it is slow, and no limit is set for it itself.
struct InnerDisk {
    device: String,
    point: String,
}

impl InnerDisk {
    fn new(bench: &Bench) -> InnerDisk {
        let (image, point) = (bench.disk.at("inner"), bench.at("inner"));
        let _ = std::fs::create_dir(&point);
        sparse_file(&image, 8 << 30);
        program(&["mkfs.ext4", "-q", "-F", "-m", "0", &image]);
        // Direct: else the page cache below it takes all, for which no group pays.
        let device = program(&["losetup", "--find", "--show", "--direct-io=on", &image]).trim().to_owned();
        program(&["mount", &device, &point]);
        InnerDisk { device, point }
    }
}

impl Drop for InnerDisk {
    fn drop(&mut self) {
        program(&["umount", &self.point]);
        program(&["losetup", "--detach", &self.device]);
    }
}

/// The group of the program that writes has little memory for the page cache that it fills: without that limit nobody
/// waits for the disk.
pub(super) fn group_memory(bench: &Bench, way: CopyWay, state: LimitState) -> Option<Scene> {
    let bytes = if state == LimitState::On { GROUP_MEMORY_BYTES } else { 8 << 30 };
    let (quota, inner) = (Quota::of_memory(bytes)?, InnerDisk::new(bench));
    let slow = SlowDisk::new(&device_of(&bench.disk.point()), "write", MEMORY_BYTES_PER_SECOND)?;
    let flags = vec!["--direct=never", "--sync=none"];
    let scene = Scene { to: inner.point.clone(), flags, ..Scene::new(bench) };
    // The disk is fast again before it is unmounted.
    Some(scene.behind(way.writes_here(), quota.words()).guarded(quota).guarded(slow).guarded(inner))
}
