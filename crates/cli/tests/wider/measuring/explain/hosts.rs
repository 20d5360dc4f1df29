//! Limits of hosts: a quota of CPU time, other programs, a rate limit, and what computes for each byte.
//!
//! Must not know: what is right of them.

use super::scene::{Bench, CopyWay, LimitState, Scene};
use crate::wider_parts::throttle::{Busy, Quota};

/// CPU quotas in percent of one CPU: of a host that reads or writes, and of a copy in memory.
const HOST_QUOTA: u32 = 5;
const MEMORY_QUOTA: u32 = 2;
/// Both of two CPUs.
const NO_QUOTA: u32 = 200;
/// Programs beside the copy on its CPU: it gets a fifth of that.
const OTHERS: usize = 4;

fn percent(limited: u32, state: LimitState) -> u32 {
    if state == LimitState::On { limited } else { NO_QUOTA }
}

/// The program that reads computes for a part of the time.
pub(super) fn reader_quota(bench: &Bench, way: CopyWay, state: LimitState) -> Option<Scene> {
    let quota = Quota::new(percent(HOST_QUOTA, state))?;
    Some(Scene::new(bench).behind(way.reads_here(), quota.words()).guarded(quota))
}

/// The program that writes does.
pub(super) fn writer_quota(bench: &Bench, way: CopyWay, state: LimitState) -> Option<Scene> {
    let quota = Quota::new(percent(HOST_QUOTA, state))?;
    Some(Scene::new(bench).behind(way.writes_here(), quota.words()).guarded(quota))
}

/// Through the page cache: nothing is written directly.
pub(super) fn buffered_quota(bench: &Bench, way: CopyWay, state: LimitState) -> Option<Scene> {
    let quota = Quota::new(percent(MEMORY_QUOTA, state))?;
    let scene = Scene { flags: vec!["--direct=never"], ..Scene::new(bench) };
    Some(scene.behind(way.reads_here(), quota.words()).guarded(quota))
}

/// Requests of null bytes.
pub(super) fn null_quota(bench: &Bench, way: CopyWay, state: LimitState) -> Option<Scene> {
    let quota = Quota::new(percent(MEMORY_QUOTA, state))?;
    Some(to_nothing(bench).behind(way.reads_here(), quota.words()).guarded(quota))
}

fn to_nothing(bench: &Bench) -> Scene {
    Scene { target: Some("null:".into()), flags: vec!["--request-size", "4KiB"], ..Scene::new(bench) }
}

fn on_cpu(number: &str) -> Vec<String> {
    ["taskset", "-c", number].map(str::to_owned).to_vec()
}

/// Other programs have the CPU of the copy.
pub(super) fn busy_here(bench: &Bench, _: CopyWay, state: LimitState) -> Option<Scene> {
    let scene = Scene { local_prefix: on_cpu("0"), ..to_nothing(bench) };
    Some(with_others(scene, state))
}

/// Other programs have the CPU of the host that is called. The one that calls may use all, and finds another one.
pub(super) fn busy_there(bench: &Bench, way: CopyWay, state: LimitState) -> Option<Scene> {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        eprintln!("not tested: a busy host of two: there is one CPU");
        return None;
    }
    let target = (way == CopyWay::Pull).then(|| "null:".to_owned());
    let scene = Scene { remote_prefix: on_cpu("0"), target, ..Scene::new(bench) };
    Some(with_others(scene, state))
}

fn with_others(scene: Scene, state: LimitState) -> Scene {
    match state {
        LimitState::On => scene.guarded(Busy::new(OTHERS)),
        LimitState::Off => scene,
    }
}

pub(super) fn rate_limit(bench: &Bench, _: CopyWay, state: LimitState) -> Option<Scene> {
    let flags = if state == LimitState::On { vec!["--bwlimit", "8MiB"] } else { Vec::new() };
    Some(Scene { flags, ..Scene::new(bench) })
}

/// Nothing is encrypted, and every block hashed. Without the limit neither is.
pub(super) fn hashing(bench: &Bench, way: CopyWay, state: LimitState) -> Option<Scene> {
    let flag = if state == LimitState::On { "--insecure=open" } else { "--insecure=bare" };
    Some(unsafe_scene(bench, way, vec![flag]))
}

/// Every block is encrypted. Without the limit none is.
pub(super) fn encryption(bench: &Bench, way: CopyWay, state: LimitState) -> Option<Scene> {
    let flags = if state == LimitState::On { Vec::new() } else { vec!["--insecure=open"] };
    Some(unsafe_scene(bench, way, flags))
}

/// Between memory and memory, so that nothing but computing is slow. One connection keeps a CPU of each host busy.
fn unsafe_scene(bench: &Bench, way: CopyWay, flags: Vec<&'static str>) -> Scene {
    let target = (way == CopyWay::Pull).then(|| "null:".to_owned());
    let to = if way == CopyWay::Push { "null:".into() } else { bench.at("to") };
    let copy_flags = [&["--connections", "1"], &flags[..]].concat();
    Scene { to, target, serve_flags: flags, flags: copy_flags, ..Scene::new(bench) }
}

/// The server is stopped in the middle, on a path that is fast, but no faster than both ends, so that they are stopped
/// while they wait for it: one that stops anywhere else does not see it.
pub(super) fn stopped_server(bench: &Bench, way: CopyWay, state: LimitState) -> Option<Scene> {
    const RATE: [&str; 6] = ["rate", "400mbit", "burst", "512kb", "latency", "50ms"];
    let scene = super::paths::shaped(bench, way.sending_side(), &RATE)?;
    Some(Scene { is_stopped: state == LimitState::On, ..scene })
}
