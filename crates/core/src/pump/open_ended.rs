//! Files whose length is found out by reading them: how far data were seen, and where they ended.
//!
//! Must not know: which reads are in flight.

/// Few files at a time are of unknown length: a list does.
#[derive(Debug, Default)]
pub(crate) struct OpenEnded(Vec<KnownEnd>);

#[derive(Clone, Copy, Debug)]
struct KnownEnd {
    file: u32,
    /// Data were seen up to here.
    reach: u64,
    /// The source said that it ends here.
    end: Option<u64>,
}

impl OpenEnded {
    fn file(&mut self, file: u32) -> &mut KnownEnd {
        let index = self.0.iter().position(|known| known.file == file).unwrap_or_else(|| {
            self.0.push(KnownEnd { file, reach: 0, end: None });
            self.0.len() - 1
        });
        &mut self.0[index]
    }

    /// Notes that data were seen up to here; false when the file had ended before.
    pub(crate) fn reaches(&mut self, file: u32, reach: u64) -> bool {
        let known = self.file(file);
        known.reach = known.reach.max(reach);
        known.end.is_none_or(|end| reach <= end)
    }

    /// Notes that the file ends here; false when data were seen behind it.
    pub(crate) fn ends_at(&mut self, file: u32, at: u64) -> bool {
        let known = self.file(file);
        known.end = Some(known.end.map_or(at, |end| end.min(at)));
        known.reach <= at
    }

    /// Nothing more will be read of the file.
    pub(crate) fn forget(&mut self, file: u32) {
        self.0.retain(|known| known.file != file);
    }

    /// Where the file ends, as far as was told.
    pub(crate) fn end(&self, file: u32) -> Option<u64> {
        self.0.iter().find(|known| known.file == file)?.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_behind_an_end_are_noticed_in_either_order() {
        let mut files = OpenEnded::default();
        assert!(files.reaches(1, 10) && files.ends_at(1, 12) && files.ends_at(1, 10));
        assert_eq!((files.end(1), files.end(2)), (Some(10), None));
        assert!(!files.reaches(1, 11), "data behind the end");
        assert!(files.reaches(2, 20));
        assert!(!files.ends_at(2, 15), "an end before data");
    }
}
