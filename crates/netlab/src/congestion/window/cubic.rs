//! CUBIC (RFC 9438): a window by the time since the last loss, and never slower than Reno would be.
//!
//! Must not know: paths, losses of others.

use super::AckClock;

/// The factor of the cube, in segments per second cubed.
const C: f64 = 0.4;
/// What a loss leaves.
pub const BETA: f64 = 0.7;
/// What the estimate of Reno gains in a round trip, until it is where the window was.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// What a window remembers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cubic {
    /// The plateau of the curve.
    w_max: f64,
    /// The window at the last loss.
    prior: f64,
    epoch: Option<Epoch>,
}

/// The time since congestion avoidance began anew.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    begin_s: f64,
    /// When the curve reaches its plateau.
    k_s: f64,
    /// What Reno would have by now.
    reno: f64,
}

impl Cubic {
    /// What a window gains by an acknowledgement.
    pub fn growth(&mut self, window: f64, counted: f64, clock: AckClock) -> f64 {
        let mut epoch = *self.epoch.get_or_insert_with(|| Epoch::new(&mut self.w_max, window, clock.now_s));
        let alpha = if epoch.reno < self.prior { ALPHA } else { 1.0 };
        epoch.reno += alpha * counted / window;
        self.epoch = Some(epoch);
        let curve = |at_s: f64| C * (at_s - epoch.begin_s - epoch.k_s).powi(3) + self.w_max;
        if curve(clock.now_s) < epoch.reno {
            return (epoch.reno - window).max(0.0);
        }
        let target = curve(clock.now_s + clock.rtt_s).clamp(window, 1.5 * window);
        counted * (target - window) / window
    }

    /// A loss at this window: what it leaves.
    pub fn lose(&mut self, window: f64) -> f64 {
        // Fast convergence: a window that did not get back leaves room for others.
        self.w_max = if window < self.w_max { window * (1.0 + BETA) / 2.0 } else { window };
        self.prior = window;
        self.epoch = None;
        window * BETA
    }
}

impl Epoch {
    fn new(w_max: &mut f64, window: f64, begin_s: f64) -> Epoch {
        *w_max = w_max.max(window);
        Epoch { begin_s, k_s: ((*w_max - window) / C).cbrt(), reno: window }
    }
}
