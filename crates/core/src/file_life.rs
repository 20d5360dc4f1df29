//! The life of one file as a state machine, from its first block to its name. What cannot be opened, or has no room,
//! has no life: it is told, and nothing was written.
//!
//! The owner asks [`FileLife::poll_step`] what to do, does it, and reports back through the `handle_*` methods. The
//! pumps move the blocks, the owner tells what landed. The order is the promise: a name comes after the last byte, the
//! check of the source, the attributes, the sync, the close and the reading back, and never after a failure.
//!
//! A file that is read back goes through up to [`REPAIRS_MAX`] further passes: what came back damaged is written again,
//! and finished and read back once more.
//!
//! A source that shows the same size and time, and may hold another content all the same, is read again and compared
//! with its copy, before anything is promised of it.
//!
//! Must not know: files, names, how a step is performed, lanes.

/// A device that damages the same part so often is not worth more trust.
pub const REPAIRS_MAX: u32 = 3;

/// The way to end a file whose blocks have landed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// A file is finished and gets its name.
    Name,
    /// The data of a device are put on stable storage.
    Device,
    /// Files and devices that hold it together get their lengths and are put on stable storage.
    Members,
    /// A stream, a null end or a comparison: nothing is left behind.
    Nothing,
    /// What stands at the target has this content already; its attributes are put right.
    Equal,
}

/// What a file needs before it counts as done. Fixed when its blocks begin to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileGoal {
    /// The ending, once all blocks have landed.
    pub ending: Ending,
    /// Data and attributes are synced before the name.
    pub syncs_data: bool,
    /// It is read back and compared before the name.
    pub reads_back: bool,
    /// The source can be read again where the device damaged the copy.
    pub is_repairable: bool,
    /// The name is made durable at once.
    pub syncs_folder: bool,
}

impl FileGoal {
    /// A stream or a null end: nothing is left behind.
    pub const NOTHING: FileGoal = FileGoal {
        ending: Ending::Nothing,
        syncs_data: false,
        reads_back: false,
        is_repairable: false,
        syncs_folder: false,
    };
}

/// Which of a file's blocks are moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// From the source to the target.
    Copy,
    /// From the target, to be compared with what was written.
    ReadBack,
    /// From the source once more, over what came back damaged.
    Repair,
}

/// What the owner does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileStep {
    /// Nothing: pumps move the blocks.
    Move(Pass),
    /// Close the journal and set the length: padding and an older file's end go.
    SetLength,
    /// Look whether the source is what it was, then call [`FileLife::handle_checked`].
    CheckSource,
    /// Read the source once more and compare it with what was copied. A source that differs fails.
    ReadAgain,
    /// Set owner, mode, times and extended attributes.
    SetAttributes,
    /// Put data and attributes on stable storage.
    Sync,
    /// Put up the blocks to be read back, then call [`FileLife::handle_pass`].
    ReadBack,
    /// Compare what a pass moved with what was written first, then call [`FileLife::handle_compared`].
    Compare(Pass),
    /// Put up the blocks to be written again, then call [`FileLife::handle_pass`].
    Repair,
    /// Hear what a close tells.
    Close,
    /// Give the file its name.
    Rename,
    /// Make the name durable.
    SyncFolder,
    /// Count the file, tell of it, and go on with what waited for it.
    Enqueue,
    /// The copy cannot be believed: report it, then call [`FileLife::handle_failed`].
    Refuse(Mismatch),
    /// Nothing, ever again.
    Over,
}

/// What a look at the source found. A change fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceCheck {
    /// It is what it was.
    Unchanged,
    /// Size and time are the same, and something says that its content may not be.
    Unverified,
}

/// What a comparison of two passes found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassesCompared {
    /// The same bytes.
    Same,
    /// Parts of the file differ.
    Damaged,
    /// The file differs, and no part of it is known to.
    Differs,
}

/// Why a copy cannot be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// The device gives back something else than what was written.
    Device,
    /// The source gave something else when it was read again.
    Source,
}

/// The life of one file.
#[derive(Clone, Debug)]
pub struct FileLife {
    step: FileStep,
    goal: FileGoal,
    /// Bytes that this pass moves; `u64::MAX` until known.
    expected_bytes: u64,
    landed_bytes: u64,
    repairs: u32,
    has_failed: bool,
}

impl FileLife {
    /// Both ends are open and have their room: blocks may move. `u64::MAX` bytes until the source has ended.
    pub fn new(goal: FileGoal, expected_bytes: u64) -> FileLife {
        let (step, landed_bytes, repairs, has_failed) = (FileStep::Move(Pass::Copy), 0, 0, false);
        let mut life = FileLife { step, goal, expected_bytes, landed_bytes, repairs, has_failed };
        life.move_bytes(Pass::Copy, expected_bytes);
        life
    }

    /// What it needs before it counts as done.
    pub fn goal(&self) -> FileGoal {
        self.goal
    }

    /// What to do now.
    #[inline]
    pub fn poll_step(&self) -> FileStep {
        self.step
    }

    /// Bytes that the present pass moves; `u64::MAX` until known.
    pub fn expected_bytes(&self) -> u64 {
        self.expected_bytes
    }

    /// How often it was written again.
    pub fn repairs(&self) -> u32 {
        self.repairs
    }

    /// Whether it was given up.
    #[inline]
    pub fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// The blocks of another pass were put up.
    pub fn handle_pass(&mut self, bytes: u64) {
        match self.step {
            FileStep::ReadBack => self.move_bytes(Pass::ReadBack, bytes),
            FileStep::Repair => self.move_bytes(Pass::Repair, bytes),
            _ => debug_assert!(self.has_failed, "{:?} puts up no blocks", self.step),
        }
    }

    fn move_bytes(&mut self, pass: Pass, bytes: u64) {
        (self.expected_bytes, self.landed_bytes) = (bytes, 0);
        self.step = if bytes == 0 { self.after(FileStep::Move(pass)) } else { FileStep::Move(pass) };
    }

    /// Bytes have landed. True for the one call that makes the pass complete: its caller goes on with the steps.
    #[inline]
    pub fn handle_landed(&mut self, bytes: u64) -> bool {
        self.landed_bytes += bytes;
        bytes > 0 && self.complete()
    }

    /// The source has ended there: the length is known now. True as for [`FileLife::handle_landed`].
    pub fn handle_ended(&mut self, at: u64) -> bool {
        self.expected_bytes = at;
        self.complete()
    }

    fn complete(&mut self) -> bool {
        let is_moving = matches!(self.step, FileStep::Move(_));
        debug_assert!(!is_moving || self.landed_bytes <= self.expected_bytes, "{self:?}");
        let is_complete = is_moving && self.landed_bytes == self.expected_bytes;
        if is_complete {
            self.step = self.after(self.step);
        }
        is_complete
    }

    /// A step was done.
    pub fn handle_done(&mut self, step: FileStep) {
        // It may have been given up meanwhile.
        if self.step == step {
            self.step = self.after(step);
        }
    }

    /// What the look at the source found.
    pub fn handle_checked(&mut self, check: SourceCheck) {
        // It may have been given up meanwhile.
        if self.step == FileStep::CheckSource {
            self.step = match check {
                SourceCheck::Unchanged => self.after(FileStep::CheckSource),
                SourceCheck::Unverified => FileStep::ReadAgain,
            };
        }
    }

    /// What the comparison of a pass with what was written found.
    pub fn handle_compared(&mut self, compared: PassesCompared) {
        let FileStep::Compare(pass) = self.step else { return };
        self.step = match (pass, compared) {
            (Pass::Repair, PassesCompared::Same) => FileStep::SetLength,
            (Pass::Repair, _) => FileStep::Refuse(Mismatch::Source),
            (_, PassesCompared::Same) => FileStep::Rename,
            (_, PassesCompared::Damaged) if self.goal.is_repairable && self.repairs < REPAIRS_MAX => {
                FileStep::Repair
            }
            _ => FileStep::Refuse(Mismatch::Device),
        };
        self.repairs += u32::from(pass == Pass::Repair);
    }

    /// It is given up. True for the first call, whose caller reports why and removes what was written.
    pub fn handle_failed(&mut self) -> bool {
        let is_first = !self.has_failed;
        (self.has_failed, self.step) = (true, FileStep::Over);
        is_first
    }

    fn after(&self, step: FileStep) -> FileStep {
        let FileGoal { ending, syncs_data, reads_back, syncs_folder, .. } = self.goal;
        // A source that was read again is as one that was unchanged.
        let step = if step == FileStep::ReadAgain { FileStep::CheckSource } else { step };
        match (step, ending) {
            (FileStep::Move(Pass::Copy), Ending::Name | Ending::Members) => FileStep::SetLength,
            (FileStep::Move(Pass::Copy), _) | (FileStep::SetLength, _) => FileStep::CheckSource,
            (FileStep::Move(pass), _) => FileStep::Compare(pass),
            (FileStep::CheckSource, Ending::Name | Ending::Equal) => FileStep::SetAttributes,
            (FileStep::CheckSource, Ending::Nothing) => FileStep::Close,
            (FileStep::CheckSource | FileStep::SetAttributes, _) if syncs_data => FileStep::Sync,
            (FileStep::SetAttributes | FileStep::Sync, Ending::Name) => FileStep::Close,
            (FileStep::CheckSource | FileStep::Sync, Ending::Members) => FileStep::Close,
            // What a close completes (object stores) cannot be read before it.
            (FileStep::Close, Ending::Name) if reads_back => FileStep::ReadBack,
            (FileStep::Close, Ending::Name) => FileStep::Rename,
            (FileStep::Rename, _) | (FileStep::Close, Ending::Members) if syncs_folder => {
                FileStep::SyncFolder
            }
            (FileStep::Enqueue | FileStep::Over, _) => FileStep::Over,
            (FileStep::ReadBack | FileStep::Repair, _) => step,
            (FileStep::Compare(_) | FileStep::Refuse(_), _) => step,
            _ => FileStep::Enqueue,
        }
    }
}
