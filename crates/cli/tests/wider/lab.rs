//! Studies on real disks, paths and browsers, and what `pump explain` advises.

mod advice;
mod disks;
mod report;
mod studies;
