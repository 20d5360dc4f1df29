//! Network settings of a host, as it reports them: numbers, flags and short words. No paths, no users, and nothing of
//! what it serves.
//!
//! Every field may be missing: where a system does not tell it, and where the other side is older. Words are bounded
//! where they are read, and are words of a stranger: who shows them escapes them.
//!
//! Must not know: where a host keeps its settings, what is good or bad about them.

use minicbor::decode::{Decoder, Error};
use minicbor::encode::{Encoder, Write};
use minicbor::{Decode, Encode};

/// A short word or a few: a name, a version, a list of names with spaces between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShortText(String);

impl ShortText {
    /// The most that is told, and taken.
    pub const BYTES_MAX: usize = 256;

    /// These words, as far as they fit.
    pub fn shortened(words: &str) -> ShortText {
        let mut end = words.len().min(ShortText::BYTES_MAX);
        while !words.is_char_boundary(end) {
            end -= 1;
        }
        ShortText(words[..end].to_owned())
    }

    /// The words as they came.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<C> Encode<C> for ShortText {
    fn encode<W: Write>(
        &self,
        out: &mut Encoder<W>,
        _: &mut C,
    ) -> Result<(), minicbor::encode::Error<W::Error>> {
        out.str(&self.0)?.ok()
    }
}

impl<'bytes, C> Decode<'bytes, C> for ShortText {
    fn decode(decoder: &mut Decoder<'bytes>, _: &mut C) -> Result<Self, Error> {
        let words = decoder.str()?;
        if words.len() <= ShortText::BYTES_MAX {
            Ok(ShortText(words.to_owned()))
        } else {
            Err(Error::message("a word that is longer than any that a host tells"))
        }
    }
}

/// The facts of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct HostSettings {
    /// Version of its pump.
    #[n(0)]
    pub version: Option<ShortText>,
    /// Release of its kernel.
    #[n(1)]
    pub kernel: Option<ShortText>,
    /// Congestion control of the connection.
    #[n(2)]
    pub congestion: Option<ShortText>,
    /// Those that its kernel has, with spaces between them.
    #[n(3)]
    pub congestion_available: Option<ShortText>,
    /// An idle connection begins again with a small window.
    #[n(4)]
    pub slow_start_after_idle: Option<bool>,
    /// 0 never, 1 once large segments are lost, 2 always.
    #[n(5)]
    pub mtu_probing: Option<u8>,
    /// The queue that its devices get.
    #[n(6)]
    pub default_qdisc: Option<ShortText>,
    /// Least, first and greatest size of a socket's receive buffer in bytes.
    #[n(7)]
    pub receive_buffer: Option<[u64; 3]>,
    /// The same of the send buffer.
    #[n(8)]
    pub send_buffer: Option<[u64; 3]>,
    /// The device that the connection goes through.
    #[n(9)]
    pub link: Option<LinkFacts>,
    /// How the speed of its CPUs is governed.
    #[n(10)]
    pub governor: Option<ShortText>,
    /// Two threads share a core.
    #[n(11)]
    pub smt: Option<bool>,
    /// CPUs.
    #[n(12)]
    pub cpus: Option<u32>,
    /// Nodes of memory.
    #[n(13)]
    pub numa_nodes: Option<u32>,
    /// Windows of TCP may be larger than 64 KiB.
    #[n(14)]
    pub window_scaling: Option<bool>,
}

/// The facts of a network device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct LinkFacts {
    /// Its name.
    #[n(0)]
    pub name: Option<ShortText>,
    /// Bytes of its largest packet.
    #[n(1)]
    pub mtu_bytes: Option<u32>,
    /// Its speed in Mbit/s.
    #[n(2)]
    pub mbit_per_s: Option<u32>,
    /// It cuts large sends into segments.
    #[n(3)]
    pub tso: Option<bool>,
    /// The kernel keeps them whole until they reach it.
    #[n(4)]
    pub gso: Option<bool>,
    /// Received segments are put together.
    #[n(5)]
    pub gro: Option<bool>,
    /// Why these three are not known.
    #[n(6)]
    pub offloads_unknown: Option<ShortText>,
    /// It is made by software: no device is behind it.
    #[n(7)]
    pub is_virtual: Option<bool>,
    /// The node of memory that it is attached to.
    #[n(8)]
    pub numa_node: Option<u32>,
    /// Its interrupts.
    #[n(9)]
    pub interrupts: Option<u32>,
    /// CPUs that take them.
    #[n(10)]
    pub interrupt_cpus: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{decode, encode};

    #[test]
    fn words_are_cut_where_they_are_told_and_refused_where_they_come() {
        let long = "ä".repeat(ShortText::BYTES_MAX);
        let facts = HostSettings { kernel: Some(ShortText::shortened(&long)), ..HostSettings::default() };
        assert_eq!(facts.kernel.as_ref().map(|words| words.as_str().len()), Some(ShortText::BYTES_MAX));
        assert_eq!(decode::<HostSettings>(&encode(&facts)), Ok(facts));
        let longer = HostSettings { kernel: Some(ShortText(long)), ..HostSettings::default() };
        assert!(decode::<HostSettings>(&encode(&longer)).is_err());
    }

    #[test]
    fn what_another_version_does_not_tell_is_missing() {
        assert_eq!(decode::<HostSettings>(&[0x80]), Ok(HostSettings::default()));
        let link = LinkFacts { tso: Some(false), ..LinkFacts::default() };
        let facts =
            HostSettings { link: Some(link), receive_buffer: Some([1, 2, 3]), ..HostSettings::default() };
        assert_eq!(decode::<HostSettings>(&encode(&facts)), Ok(facts));
    }
}
