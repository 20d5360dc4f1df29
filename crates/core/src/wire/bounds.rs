//! Numbers of the other side, within the bounds in which this one can work with them. A number beyond is refused where
//! it is read, so that nothing behind the decoder ever sees one.
//!
//! The numbers are public: a test may say what an honest program never would.
//!
//! Must not know: what the numbers are used for.

pub(super) mod lists;

use minicbor::decode::{Decoder, Error};
use minicbor::encode::{Encoder, Write};
use minicbor::{Decode, Encode};

/// Sums of as many numbers as this program adds up stay within 64 bits. In nanoseconds it is nine years. What this side
/// has more of is written as this.
pub const COUNT_MAX: u64 = 1 << 58;

/// A Linux error number: 1 to 4095 (`MAX_ERRNO` of the kernel).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorNumber(pub i32);

/// A length or an offset in bytes: at most what the kernel's `loff_t` takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileSize(pub u64);

/// A user or a group: any number but -1, which means "leave it" to chown(2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnerId(pub u32);

impl ErrorNumber {
    /// The greatest that the kernel gives.
    const MAX: i32 = 4095;
    /// EIO, for what is no error number.
    const IO: i32 = 5;

    /// What the system said here.
    pub fn of(number: i32) -> ErrorNumber {
        ErrorNumber(if (1..=ErrorNumber::MAX).contains(&number) { number } else { ErrorNumber::IO })
    }
}

impl FileSize {
    /// The greatest.
    pub const MAX: FileSize = FileSize(i64::MAX as u64);

    /// What the system said here.
    pub fn of(bytes: u64) -> FileSize {
        FileSize(bytes).min(FileSize::MAX)
    }
}

/// Says what a number beyond its bounds is.
fn within<T>(is_within: bool, number: T, what: &'static str) -> Result<T, Error> {
    if is_within { Ok(number) } else { Err(Error::message(what)) }
}

impl<C> Encode<C> for ErrorNumber {
    fn encode<W: Write>(&self, out: &mut Encoder<W>, _: &mut C) -> Result<(), EncodeError<W>> {
        out.i32(self.0)?.ok()
    }
}

impl<'bytes, C> Decode<'bytes, C> for ErrorNumber {
    fn decode(decoder: &mut Decoder<'bytes>, _: &mut C) -> Result<Self, Error> {
        let number = decoder.i32()?;
        let is_within = (1..=ErrorNumber::MAX).contains(&number);
        within(is_within, ErrorNumber(number), "no system has this error number")
    }
}

impl<C> Encode<C> for FileSize {
    fn encode<W: Write>(&self, out: &mut Encoder<W>, _: &mut C) -> Result<(), EncodeError<W>> {
        out.u64(self.0)?.ok()
    }
}

impl<'bytes, C> Decode<'bytes, C> for FileSize {
    fn decode(decoder: &mut Decoder<'bytes>, _: &mut C) -> Result<Self, Error> {
        let size = FileSize(decoder.u64()?);
        within(size <= FileSize::MAX, size, "no file is as long")
    }
}

impl<C> Encode<C> for OwnerId {
    fn encode<W: Write>(&self, out: &mut Encoder<W>, _: &mut C) -> Result<(), EncodeError<W>> {
        out.u32(self.0)?.ok()
    }
}

impl<'bytes, C> Decode<'bytes, C> for OwnerId {
    fn decode(decoder: &mut Decoder<'bytes>, _: &mut C) -> Result<Self, Error> {
        let id = decoder.u32()?;
        within(id != u32::MAX, OwnerId(id), "nobody has this number")
    }
}

type EncodeError<W> = minicbor::encode::Error<<W as Write>::Error>;

/// Writes what has counts in it, each within [`COUNT_MAX`]: 64 lanes reach it in 52 days, and 512 CPUs in a week.
pub(super) fn bounded<C, T: Encode<C> + HasCounts, W: Write>(
    counts: &T,
    out: &mut Encoder<W>,
    context: &mut C,
) -> Result<(), EncodeError<W>> {
    let mut bounded = counts.clone();
    bounded.counts().for_each(|count| *count = COUNT_MAX.min(*count));
    bounded.encode(out, context)
}

/// Reads what has counts in it, each within [`COUNT_MAX`].
pub(super) fn counted<'bytes, C, T: Decode<'bytes, C> + HasCounts>(
    decoder: &mut Decoder<'bytes>,
    context: &mut C,
) -> Result<T, Error> {
    let mut counted = T::decode(decoder, context)?;
    let is_within = counted.counts().all(|count| *count <= COUNT_MAX);
    within(is_within, counted, "no count is as great")
}

/// What has counts in it: bytes, files, nanoseconds.
pub(super) trait HasCounts: Clone {
    /// All of them.
    fn counts(&mut self) -> impl Iterator<Item = &mut u64>;
}
