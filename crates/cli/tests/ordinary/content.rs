//! The bytes of files: copied in every shape, while they change, and read back.

mod changes;
mod copies;
mod growing;
mod read_again;
mod sparse;
mod stripe;
mod uncached;
