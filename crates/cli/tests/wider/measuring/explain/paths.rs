//! Limits of paths: rate, losses, distance, windows and buffers of both kernels.
//!
//! Must not know: what is right of them.

use std::rc::Rc;

use super::scene::{Bench, CopyWay, LimitState, Scene};
use crate::wider_parts::network::{INTERFACE, Network, Side};

/// A queue of the kernel that sends on one side of the cable.
struct Shaped {
    network: Rc<Network>,
    side: Side,
    folder: std::path::PathBuf,
}

/// Between the two hosts of the bench, where `side` sends no faster than this.
pub(super) fn shaped(bench: &Bench, side: Side, tbf: &[&str]) -> Option<Scene> {
    let network = Rc::clone(bench.network.as_ref()?);
    let words = [&["tc", "qdisc", "replace", "dev", INTERFACE, "root", "tbf"], tbf].concat();
    bench.on(&network, side, &words);
    let guard = Shaped { network: Rc::clone(&network), side, folder: bench.home.path("") };
    Some(Scene { network: Some(network), ..Scene::new(bench) }.guarded(guard))
}

impl Drop for Shaped {
    fn drop(&mut self) {
        let words = ["tc", "qdisc", "delete", "dev", INTERFACE, "root"];
        let _ = self.network.command_in(self.side, &self.folder, &words).output();
    }
}

/// The path takes 5 MB/s of what is sent.
pub(super) fn full(bench: &Bench, way: CopyWay, state: LimitState) -> Option<Scene> {
    const SLOW: [&str; 6] = ["rate", "40mbit", "burst", "64kb", "latency", "50ms"];
    match state {
        LimitState::On => shaped(bench, way.sending_side(), &SLOW),
        LimitState::Off => {
            Some(Scene { network: Some(Rc::clone(bench.network.as_ref()?)), ..Scene::new(bench) })
        }
    }
}

/// A path that a program lays, with settings of the kernels at its ends.
fn laid(bench: &Bench, words: &[&str], settings: &[(Side, &str, &str)]) -> Option<Scene> {
    let network = Network::over_path(words)?;
    for (side, setting, value) in settings {
        network.set(*side, &bench.home, setting, value);
    }
    Some(Scene { network: Some(Rc::new(network)), ..Scene::new(bench) })
}

/// Segments are lost now and then, and no queue explains it. The congestion control reacts to losses, and is the one that
/// every kernel has and allows in a namespace.
pub(super) fn lossy(bench: &Bench, way: CopyWay, state: LimitState) -> Option<Scene> {
    let loss: &[&str] = if state == LimitState::On { &["--loss", "0.01"] } else { &[] };
    let control = (way.sending_side(), "net/ipv4/tcp_congestion_control", "reno");
    laid(bench, &[&["--rtt", "20ms"], loss].concat(), &[control])
}

const DISTANT: [&str; 4] = ["--rtt", "40ms", "--rate", "400Mbit"];

/// The kernel that receives gives a small window.
pub(super) fn receive_window(bench: &Bench, way: CopyWay, state: LimitState) -> Option<Scene> {
    let most = if state == LimitState::On { "4096 16384 131072" } else { "4096 131072 33554432" };
    laid(bench, &DISTANT, &[(way.receiving_side(), "net/ipv4/tcp_rmem", most)])
}

/// No window is larger than 64 KiB.
pub(super) fn no_scaling(bench: &Bench, way: CopyWay, state: LimitState) -> Option<Scene> {
    let is_on = if state == LimitState::On { "0" } else { "1" };
    laid(bench, &DISTANT, &[(way.receiving_side(), "net/ipv4/tcp_window_scaling", is_on)])
}

/// The kernel that sends keeps little until it is acknowledged.
pub(super) fn send_buffer(bench: &Bench, way: CopyWay, state: LimitState) -> Option<Scene> {
    let most = if state == LimitState::On { "4096 16384 131072" } else { "4096 16384 33554432" };
    laid(bench, &DISTANT, &[(way.sending_side(), "net/ipv4/tcp_wmem", most)])
}

/// The copy asks for small buffers at both ends.
pub(super) fn small_buffers(bench: &Bench, _: CopyWay, state: LimitState) -> Option<Scene> {
    let scene = laid(bench, &DISTANT, &[])?;
    let flags = if state == LimitState::On { vec!["--socket-buffer", "64KiB"] } else { Vec::new() };
    Some(Scene { flags, ..scene })
}
