//! The round of a row: runs of several cells that have the same are compared with one another.
//!
//! Must not know: what is compared.

use super::Row;

/// A session, a seed and a round of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SessionRound<'rows> {
    /// Rounds of two sessions have nothing in common.
    pub session: &'rows str,
    /// The seed of the order of its runs.
    pub seed: u64,
    /// Its number.
    pub round: u32,
}

impl SessionRound<'_> {
    /// The round of this row.
    pub fn of_row(row: &Row) -> SessionRound<'_> {
        SessionRound { session: &row.session, seed: row.seed, round: row.repeat }
    }

    /// Whether `other` is the next round of the same session.
    pub fn is_before(self, other: SessionRound<'_>) -> bool {
        self.round < other.round && SessionRound { round: other.round - 1, ..other } == self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_round_is_one_of_the_same_session_and_seed() {
        let row =
            |session: &str, seed, repeat| Row { session: session.into(), seed, repeat, ..Row::default() };
        let first = row("a", 1, 4);
        for (what, other, is_next) in [
            ("the next", row("a", 1, 5), true),
            ("the same", row("a", 1, 4), false),
            ("the one before", row("a", 1, 3), false),
            ("of another session", row("b", 1, 5), false),
            ("of another seed", row("a", 2, 5), false),
        ] {
            let got = SessionRound::of_row(&first).is_before(SessionRound::of_row(&other));
            assert_eq!(got, is_next, "{what}");
        }
    }
}
