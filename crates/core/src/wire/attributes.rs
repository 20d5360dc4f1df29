//! Messages about a file: `stat(2)`, extended attributes, and names with them.
//!
//! Must not know: file systems, who asks.

use minicbor::bytes::ByteVec;
use minicbor::decode::{Decoder, Error};
use minicbor::encode::{Encoder, Write};
use minicbor::{Decode, Encode};

use super::bounds::lists;
use super::bounds::{ErrorNumber, FileSize, OwnerId};
use crate::FileKind;

/// Nanoseconds since 1970, as file systems keep them: whole seconds of 64 bits, and the rest of the second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeNs(pub i128);

const SECOND_NS: i128 = 1_000_000_000;

impl<C> Encode<C> for TimeNs {
    fn encode<W: Write>(
        &self,
        encoder: &mut Encoder<W>,
        _: &mut C,
    ) -> Result<(), minicbor::encode::Error<W::Error>> {
        let seconds = self.0.div_euclid(SECOND_NS).clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        encoder.array(2)?.i64(seconds)?.u32(self.0.rem_euclid(SECOND_NS) as u32)?.ok()
    }
}

impl<'bytes, C> Decode<'bytes, C> for TimeNs {
    fn decode(decoder: &mut Decoder<'bytes>, _: &mut C) -> Result<Self, Error> {
        if decoder.array()? != Some(2) {
            return Err(Error::message("a time has two parts"));
        }
        let (seconds, rest) = (decoder.i64()?, decoder.u32()?);
        if i128::from(rest) < SECOND_NS {
            Ok(TimeNs(i128::from(seconds) * SECOND_NS + i128::from(rest)))
        } else {
            Err(Error::message("more nanoseconds than a second has"))
        }
    }
}

/// What `stat(2)` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct WireMeta {
    /// What it is.
    #[n(0)]
    pub kind: FileKind,
    /// Permissions with set-id and sticky bits.
    #[n(1)]
    pub mode: u32,
    /// Owner.
    #[n(2)]
    pub uid: OwnerId,
    /// Group.
    #[n(3)]
    pub gid: OwnerId,
    /// Length in bytes.
    #[n(4)]
    pub size_bytes: FileSize,
    /// Bytes that are allocated.
    #[n(5)]
    pub allocated_bytes: FileSize,
    /// Device and inode: which names are one file.
    #[n(6)]
    pub device: u64,
    /// See `device`.
    #[n(7)]
    pub inode: u64,
    /// Names that the file has.
    #[n(8)]
    pub links: u64,
    /// Last access.
    #[n(9)]
    pub atime: TimeNs,
    /// Last change of the content.
    #[n(10)]
    pub mtime: TimeNs,
    /// Last change of the attributes.
    #[n(11)]
    pub ctime: TimeNs,
    /// Of a device: which.
    #[n(12)]
    pub special_device: u64,
    /// Of a file with several names: which of the files that had its inode number it is, where that is known.
    #[n(13)]
    pub generation: Option<u32>,
    /// Of what has several names: a sum of the handle by which its file system tells it from all others; 0 where it
    /// does not. Older versions do not say.
    #[n(14)]
    pub handle: Option<u64>,
}

/// An extended attribute or access control list.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Attribute {
    /// Its name, such as `user.note`; without a zero at the end.
    #[n(0)]
    pub name: ByteVec,
    /// Its value.
    #[n(1)]
    pub value: ByteVec,
    /// It could not be read: the value says nothing.
    #[n(2)]
    pub is_unreadable: Option<bool>,
}

/// What a user or a group is called at the side that reads. It is sent on a connection before or with the first answer
/// in which the number stands; of what has no name nothing is told.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct OwnerName {
    /// It is a group.
    #[n(0)]
    pub is_group: bool,
    /// Its number there.
    #[n(1)]
    pub id: OwnerId,
    /// Its name.
    #[n(2)]
    #[cbor(decode_with = "owner_name")]
    pub name: ByteVec,
}

/// Bytes of the longest name of a user or group: LOGIN_NAME_MAX, which Linux has as 256, and room for a domain.
pub const OWNER_NAME_BYTES_MAX: usize = 512;

fn owner_name<'bytes, C>(decoder: &mut Decoder<'bytes>, _: &mut C) -> Result<ByteVec, Error> {
    let name = decoder.bytes()?;
    if is_owner_name(name) { Ok(name.to_vec().into()) } else { Err(Error::message("nobody has such a name")) }
}

/// Whether passwd(5) can have it: not empty, not longer than is told, without colons and control characters.
pub fn is_owner_name(name: &[u8]) -> bool {
    let is_letter = |&byte: &u8| byte != b':' && !byte.is_ascii_control();
    (1..=OWNER_NAME_BYTES_MAX).contains(&name.len()) && name.iter().all(is_letter)
}

/// A name in a folder.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Entry {
    /// One component: no slash, neither `.` nor `..`.
    #[n(0)]
    pub name: ByteVec,
    /// What it is; missing where it could not be looked at.
    #[n(1)]
    pub meta: Option<WireMeta>,
    /// Of a symbolic link: what it points to.
    #[n(2)]
    pub points_to: Option<ByteVec>,
    /// Of what is neither file nor folder: its extended attributes. Of a regular file, where that was requested: those
    /// that belong to it on any system. Missing where they do not fit; older versions never tell them.
    #[n(3)]
    #[cbor(decode_with = "lists::told_attributes", nil = "lists::none")]
    pub attributes: Option<Vec<Attribute>>,
    /// Why it could not be looked at: Linux error number.
    #[n(4)]
    pub errno: Option<ErrorNumber>,
    /// It is a temporary file that a pump uses or can resume, or its journal: a copy leaves it out. The field is sent
    /// for a name that is looked at alone.
    #[n(5)]
    pub is_partial: Option<bool>,
    /// What it is follows without a request, under this number.
    #[n(6)]
    pub follows: Option<u64>,
    /// It is a file of the server itself, which it serves to nobody: a copy skips it, and what the target has under this
    /// name stays. The error number goes with it, for a side that is older.
    #[n(7)]
    pub is_withheld: Option<bool>,
}

impl Entry {
    /// Whether the name can stand in a folder: a name that means another place is the work of an attacker.
    pub fn is_plain(&self) -> bool {
        is_plain(&self.name)
    }
}

/// One component of at most 255 bytes (NAME_MAX), neither `.` nor `..`.
pub fn is_plain(name: &[u8]) -> bool {
    const NAME_BYTES_MAX: usize = 255;
    let fits = (1..=NAME_BYTES_MAX).contains(&name.len());
    fits && name != b"." && name != b".." && !name.contains(&b'/') && !name.contains(&0)
}
