//! The result of a search.
//!
//! Must not know: how it searched.

use schemars::JsonSchema;
use serde::Serialize;

use super::point::Point;
use super::search::Tried;

/// What was found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Tuned {
    /// The point to use.
    pub chosen: Point,
    /// Where the search began: what the program would choose.
    pub start: Point,
    /// What was compared, in order.
    pub tried: Vec<Tried>,
    /// How many times as fast as the start, as measured; null if the time did not suffice.
    pub gain: Option<f64>,
    /// Time of the search.
    pub spent_ns: u64,
    /// Bytes that rehearsals wrote and removed again.
    pub written_bytes: u64,
    /// When it was found, if that was before.
    pub remembered: Option<String>,
}
