//! Places that are files: each is open when it is read, and a bounded number stays open behind that.
//!
//! Over a long path all places of a session are opened ahead of the requests, and a pattern may mean thousands. One
//! that was closed is opened again when it is asked for, and must be the same file.
//!
//! Must not know: folders, what is read.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use datapump_files::disk::Meta;
use datapump_files::identity::tick::TimeLook;

use super::Taken;
use crate::net::folder::given_file::GivenFile;
use crate::setup::budget::Charge;

/// A file, a stream, or what is known of a file that was closed.
#[derive(Debug)]
pub(super) enum KeptFile {
    /// With what it takes of memory and of open files.
    Open(Taken, [Charge; 2]),
    /// A place that was closed.
    Closed(ClosedFile),
}

/// A place, and what its file was; with the memory of both.
#[derive(Debug)]
pub(super) struct ClosedFile {
    pub(super) place: u32,
    pub(super) meta: Meta,
    /// What its times could tell when it was opened first.
    pub(super) magic: u64,
    pub(super) look: TimeLook,
    _charge: Charge,
}

/// What was opened, by its number.
#[derive(Debug, Default)]
pub(super) struct KeptFiles {
    pub(super) by_number: HashMap<u64, KeptFile>,
    /// Places that are open, the one that was opened first in front.
    places: VecDeque<(u64, u32)>,
}

impl KeptFiles {
    /// Keeps an open place, and closes those that were opened first: so many stay open.
    pub(super) fn insert_place(&mut self, number: u64, place: u32, file: KeptFile, most: usize) {
        self.by_number.insert(number, file);
        self.places.push_back((number, place));
        // Those in use have their turn again later.
        for _ in 0..self.places.len().saturating_sub(most) {
            if let Some((number, place)) = self.places.pop_front()
                && !self.close(number, place)
            {
                self.places.push_back((number, place));
            }
        }
    }

    /// Closes one that stays open for nobody. False if there is none.
    pub(super) fn close_one(&mut self) -> bool {
        for _ in 0..self.places.len() {
            let Some((number, place)) = self.places.pop_front() else { return false };
            let is_open = matches!(self.by_number.get(&number), Some(KeptFile::Open(..)));
            if self.close(number, place) {
                if is_open {
                    return true;
                }
            } else {
                self.places.push_back((number, place));
            }
        }
        false
    }

    /// Closes a place, and keeps what it was, to be opened again. False where it is in use.
    fn close(&mut self, number: u64, place: u32) -> bool {
        match self.by_number.remove(&number) {
            Some(KeptFile::Open(Taken::File(given), [memory, _])) if Arc::strong_count(&given) == 1 => {
                let GivenFile { meta, magic, look, .. } = *given;
                let closed = ClosedFile { place, meta, magic, look, _charge: memory };
                self.by_number.insert(number, KeptFile::Closed(closed));
                true
            }
            Some(file @ KeptFile::Open(Taken::File(_), _)) => {
                self.by_number.insert(number, file);
                false
            }
            // It is a stream, was closed, or given back.
            file => {
                file.into_iter().for_each(|file| drop(self.by_number.insert(number, file)));
                true
            }
        }
    }
}
