//! How a store of objects behaves that is mounted as a file system.
//!
//! Must not know: the file system.

const ENOSYS: i32 = 38;

/// What a store does, and how it refuses what it does not.
#[derive(Clone, Copy, Debug)]
pub struct StoreRules {
    /// The error of a byte out of order.
    pub gap: i32,
    /// The error of a rename, of attributes, of a length; 0: attributes are taken and not kept.
    pub refusal: i32,
    pub renames: bool,
    pub removes: bool,
    /// An object may be replaced by one that is opened with `O_TRUNC`.
    pub overwrites: bool,
    /// The error of a sync; none: it completes the upload.
    pub sync: Option<i32>,
    /// Bytes are taken in any order, and a sync completes nothing.
    pub takes_gaps: bool,
    /// The error of opening for reading and writing.
    pub read_write: Option<i32>,
    /// A new file has the mode with which it is made; changes are kept where attributes are taken.
    pub keeps_modes: bool,
}

impl StoreRules {
    /// As mountpoint-s3 with all that it allows.
    pub const MOUNTPOINT: StoreRules = StoreRules {
        gap: 22,
        refusal: ENOSYS,
        renames: false,
        removes: true,
        overwrites: true,
        sync: None,
        takes_gaps: false,
        read_write: None,
        keeps_modes: false,
    };
    /// As gcsfuse: a copy on its disk takes what does not come in order.
    pub const GCSFUSE: StoreRules =
        StoreRules { refusal: 0, renames: true, takes_gaps: true, ..StoreRules::MOUNTPOINT };
}
