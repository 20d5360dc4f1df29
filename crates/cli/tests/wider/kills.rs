//! Killed at random moments: the same command goes on.

mod coarse_resume;
mod files;
mod hosts;
mod mirrors;
mod resume;
mod trees;
