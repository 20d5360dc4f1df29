//! `pump lab`, `pump copy --tune`: studies, rows, figures, predictions.

mod access;
mod binaries;
mod cost;
mod crossings;
mod disks;
mod many_readers;
mod pages;
mod profile;
mod readers;
mod reproduce;
mod request_response;
mod scrub;
mod simulate;
mod trend;
mod tune;
mod udp;
