//! An open file, real or simulated, that requests refer to.
//!
//! Must not know: its name, how it was chosen or opened.

use std::fs::File;

use crate::sim::SimFile;

/// Something open that can be read or written.
#[derive(Debug)]
pub enum Handle {
    /// A file of the operating system: regular file, device, pipe, terminal.
    Os(File),
    /// A file of the simulation's memory.
    Sim(SimFile),
}

impl Handle {
    /// The operating system's file.
    ///
    /// # Panics
    /// For a simulated file: real engines and simulated files never meet in one job.
    pub fn os(&self) -> &File {
        match self {
            Handle::Os(file) => file,
            Handle::Sim(_) => unreachable!("a simulated file in a real engine"),
        }
    }

    /// The simulated file.
    ///
    /// # Panics
    /// For a file of the operating system.
    pub fn sim(&self) -> &SimFile {
        match self {
            Handle::Sim(file) => file,
            Handle::Os(_) => unreachable!("a real file in the simulation"),
        }
    }
}
