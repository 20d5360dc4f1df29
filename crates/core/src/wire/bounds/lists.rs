//! Lists in messages: their length is bounded before the first of them is read. A thing of three bytes on the wire may
//! take hundreds in memory, so that the bound of a message bounds too little.
//!
//! Must not know: what is in the lists.

use minicbor::Decode;
use minicbor::data::Type;
use minicbor::decode::{Decoder, Error};

use crate::wire::{
    ATTRIBUTES_MAX, NAMES_MAX, OWNERS_MAX, RANGES_MAX, SOURCES_MAX, TRAFFIC_MAX, UNWANTED_MAX,
};

/// A reader of a field that is a list, or that may be one, of at most so many things.
macro_rules! readers {
    ($($(#[$doc:meta])* $name:ident: $read:ident, $result:ty, $most:ident;)*) => {$(
        $(#[$doc])*
        pub(in crate::wire) fn $name<'bytes, C, T: Decode<'bytes, C>>(
            decoder: &mut Decoder<'bytes>,
            context: &mut C,
        ) -> Result<$result, Error> {
            $read(decoder, context, $most)
        }
    )*};
}

readers! {
    /// The names of a folder.
    names: list, Vec<T>, NAMES_MAX;
    /// The places of a session.
    sources: list, Vec<T>, SOURCES_MAX;
    /// What places stand for, where that is told.
    places: optional, Option<Vec<T>>, SOURCES_MAX;
    /// The numbers of unwanted answers.
    unwanted: list, Vec<T>, UNWANTED_MAX;
    /// The attributes of a file or folder.
    attributes: list, Vec<T>, ATTRIBUTES_MAX;
    /// The attributes of a name, where they are told.
    told_attributes: optional, Option<Vec<T>>, ATTRIBUTES_MAX;
    /// The map of a file, where there is one.
    ranges: optional, Option<Vec<T>>, RANGES_MAX;
    /// How far the connections of a session are, where that is told.
    traffic: optional, Option<Vec<T>>, TRAFFIC_MAX;
    /// What owners and groups are called, where that is told.
    owners: optional, Option<Vec<T>>, OWNERS_MAX;
}

/// What an optional list is that is not told.
#[expect(clippy::unnecessary_wraps, reason = "minicbor's form: a field may also have nothing instead")]
pub(in crate::wire) fn none<T>() -> Option<Option<Vec<T>>> {
    Some(None)
}

fn optional<'bytes, C, T>(
    decoder: &mut Decoder<'bytes>,
    context: &mut C,
    most: usize,
) -> Result<Option<Vec<T>>, Error>
where
    T: Decode<'bytes, C>,
{
    match decoder.datatype()? {
        Type::Null => decoder.null().map(|()| None),
        _ => list(decoder, context, most).map(Some),
    }
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
    // No more room than it needs: what grows by doubling takes twice as much.
    let mut all = Vec::with_capacity(length as usize);
    for _ in 0..length {
        all.push(decoder.decode_with(context)?);
    }
    Ok(all)
}
