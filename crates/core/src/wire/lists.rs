//! Lists in messages: their length is bounded before the first of them is read. A thing of three bytes on the wire may
//! take hundreds in memory, so that the bound of a message bounds too little.
//!
//! Must not know: what is in the lists.

use minicbor::Decode;
use minicbor::decode::{Decoder, Error};

use super::{NAMES_MAX, SOURCES_MAX};

/// The names of a folder.
pub(super) fn names<'bytes, C, T>(decoder: &mut Decoder<'bytes>, context: &mut C) -> Result<Vec<T>, Error>
where
    T: Decode<'bytes, C>,
{
    list(decoder, context, NAMES_MAX)
}

/// The places of a session.
pub(super) fn sources<'bytes, C, T>(decoder: &mut Decoder<'bytes>, context: &mut C) -> Result<Vec<T>, Error>
where
    T: Decode<'bytes, C>,
{
    list(decoder, context, SOURCES_MAX)
}

fn list<'bytes, C, T>(decoder: &mut Decoder<'bytes>, context: &mut C, most: usize) -> Result<Vec<T>, Error>
where
    T: Decode<'bytes, C>,
{
    // No side of ours writes a list whose length it does not know.
    let length = decoder.array()?.ok_or_else(|| Error::message("a list without its length"))?;
    if length > most as u64 {
        return Err(Error::message(format!("a list of {length}; at most {most} are taken")));
    }
    (0..length).map(|_| decoder.decode_with(context)).collect()
}
