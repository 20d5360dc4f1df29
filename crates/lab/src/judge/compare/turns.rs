//! How much less sessions that are close in time say, and how much wider intervals are for it.
//!
//! Sessions a minute apart resemble each other: in `bench/sessions.jsonl` (one build) by 0.38, two minutes apart by 0.22.
//! Where the sides took turns (A B A B) both have the same of it. Where all of A came first it looks like a difference,
//! and the sessions of a side differ by less than they would. How long a machine keeps a state is not known, so the
//! worst is taken: of what sessions differ by, two thirds fade as exp(-distance / time), with the time between a second
//! and 20 minutes for which the interval is widest. After an hour 5 % of that are left. Must not know: what the sessions
//! measured.

use crate::judge::stats::Estimate;

/// Share of the variance between sessions that neighbours have in common: correlations at one and two minutes give 0.66.
const SHARED: f64 = 2.0 / 3.0;
/// Longest time constant of its decay, in seconds.
const FADES_IN_S_MAX: f64 = 1200.0;
/// Number of times that it is halved, to try shorter ones.
const HALVES: i32 = 10;
/// Student's quantile at 1 % is about 2.6 × (1 + 3.5 / freedom): near enough to find the widest interval, and many times
/// as fast.
const QUANTILE_BY_FREEDOM: f64 = 3.5;

/// By what factors an estimate is less certain than that of sessions far apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TurnFactors {
    /// Factor of the variance: 1 or more.
    pub variance: f64,
    /// Factor of the degrees of freedom: 1 or less.
    pub freedom: f64,
    /// Factor of an interval's width, from both.
    pub width: f64,
}

impl TurnFactors {
    /// The factors for sessions of A and of B at these times, in seconds. One session of a side has none.
    pub fn from_times(sides: [&[f64]; 2]) -> TurnFactors {
        let plain = TurnFactors { variance: 1.0, freedom: 1.0, width: 1.0 };
        if sides.iter().any(|side| side.len() < 2) {
            return plain;
        }
        let freedom = (sides[0].len() + sides[1].len()) as f64 - 2.0;
        let quantile = |part: f64| 1.0 + QUANTILE_BY_FREEDOM / (freedom * part);
        let wide = |it: TurnFactors| TurnFactors {
            width: it.variance.sqrt() * quantile(it.freedom) / quantile(1.0),
            ..it
        };
        let times = (0..=HALVES).map(|halves| FADES_IN_S_MAX / 2_f64.powi(halves));
        let factors =
            times.filter_map(|fades_in_s| SessionCorrelations::over(sides, fades_in_s).factors()).map(wide);
        factors.fold(plain, |widest, it| if it.width > widest.width { it } else { widest })
    }

    /// The estimate with its uncertainty widened by these factors.
    pub fn applied_to(self, estimate: Estimate) -> Estimate {
        let Estimate { center, variance, freedom } = estimate;
        Estimate { center, variance: variance * self.variance, freedom: freedom * self.freedom }
    }
}

/// How much each session resembles each, A's first.
struct SessionCorrelations {
    of_sides: [usize; 2],
    rows: Vec<Vec<f64>>,
}

impl SessionCorrelations {
    fn over(sides: [&[f64]; 2], fades_in_s: f64) -> SessionCorrelations {
        let all = sides.concat();
        let between = |(one, a): (usize, &f64), (other, b): (usize, &f64)| {
            if one == other { 1.0 } else { SHARED * (-(a - b).abs() / fades_in_s).exp() }
        };
        let row = |a| all.iter().enumerate().map(|b| between(a, b)).collect();
        SessionCorrelations {
            of_sides: sides.map(<[f64]>::len),
            rows: all.iter().enumerate().map(row).collect(),
        }
    }

    fn side(&self, session: usize) -> usize {
        usize::from(session >= self.of_sides[0])
    }

    /// The variance of the difference of the means over what is expected of the formula for independent sessions, and
    /// the freedom of that (Satterthwaite) over theirs; the width is found later.
    fn factors(&self) -> Option<TurnFactors> {
        let [a, b] = self.of_sides;
        let to_side = |row: &[f64]| {
            let (of_a, of_b) = row.split_at(a);
            [of_a.iter().sum::<f64>() / a as f64, of_b.iter().sum::<f64>() / b as f64]
        };
        let means: Vec<[f64; 2]> = self.rows.iter().map(|row| to_side(row)).collect();
        let column = |side: usize| to_side(&means.iter().map(|mean| mean[side]).collect::<Vec<_>>());
        let sides = [column(0), column(1)];
        let (mut sum, mut squares) = (0.0, 0.0);
        for (one, row) in self.rows.iter().enumerate() {
            for (other, shared) in row.iter().enumerate() {
                let (its, others) = (self.side(one), self.side(other));
                let residual = shared - means[one][others] - means[other][its] + sides[its][others];
                squares += residual * residual;
                sum += if one == other { residual } else { 0.0 };
            }
        }
        let freedom = (a + b) as f64 - 2.0;
        let expected = (1.0 / a as f64 + 1.0 / b as f64) * sum / freedom;
        let variance = sides[0][0] + sides[1][1] - 2.0 * sides[0][1];
        (expected > 0.0).then(|| TurnFactors {
            variance: variance / expected,
            freedom: sum * sum / squares / freedom,
            width: 1.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sessions a minute apart in this order.
    fn of_order(order: &str) -> TurnFactors {
        let at = |side| {
            order.chars().enumerate().filter(move |(_, it)| *it == side).map(|(at, _)| 60.0 * at as f64)
        };
        let [a, b] = ['A', 'B'].map(|side| at(side).collect::<Vec<f64>>());
        TurnFactors::from_times([&a, &b])
    }

    #[test]
    fn sides_in_turns_lose_nothing_and_one_behind_the_other_half_or_more() {
        for (order, least, most) in [
            ("ABABAB", 1.0, 1.0),
            ("ABBAAB", 1.0, 1.0),
            ("AABBAB", 1.0, 1.2),
            ("ABBBAA", 1.0, 1.3),
            ("AAABBB", 1.3, 1.6),
            ("AAAAAABBBBBB", 1.6, 2.6),
        ] {
            let factors = of_order(order);
            assert!((least..=most).contains(&factors.width), "{order}: {factors:?}");
            assert!(factors.variance >= 1.0 || factors.freedom < 1.0 || factors.width == 1.0, "{factors:?}");
        }
    }

    #[test]
    fn hours_between_sessions_are_enough_and_two_days_of_sessions_side_by_side_are_not() {
        let hours =
            |first: u32| (first..first + 3).map(|hour| f64::from(hour) * 3600.0).collect::<Vec<f64>>();
        let width = |a: &[f64], b: &[f64]| TurnFactors::from_times([a, b]).width;
        assert!(width(&hours(0), &hours(3)) < 1.1);
        let minutes = |day: f64| [0.0, 60.0, 120.0].map(|second| day * 86400.0 + second);
        assert!(width(&minutes(0.0), &minutes(1.0)) > 2.0);
        // Many earlier sessions do not make three of one morning count more.
        let before: Vec<f64> = (0..20).map(|day| f64::from(day) * 86400.0).collect();
        assert!(width(&before, &minutes(30.0)) > 1.3);
        assert_eq!(width(&[0.0; 3], &[0.0; 3]), 1.0, "rows that do not say their time");
        assert_eq!(width(&[0.0], &[60.0, 120.0]), 1.0, "one session has no interval anyway");
    }
}
