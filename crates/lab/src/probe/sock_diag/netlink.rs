//! Questions to the kernel over a netlink socket, and the messages that come back: netlink(7).
//!
//! What comes is read with its bounds checked; bytes that are no messages are an error. Must not know: what is asked.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with,
};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Length, kind, flags, number, port: what each message begins with.
const HEAD_BYTES: usize = 16;
/// `NLMSG_ERROR`: an error number follows.
const ERROR: u16 = 2;
/// `NLMSG_DONE`: the last of a list.
const DONE: u16 = 3;
/// `NLM_F_REQUEST`.
const REQUEST: u16 = 1;
/// `NLM_F_ROOT | NLM_F_MATCH`: all there are.
const DUMP: u16 = 0x300;
/// The kernel puts as many messages of a list into one datagram as fit 32 KiB.
const DATAGRAM_BYTES: usize = 65_536;
/// The kernel answers at once; a question that it drops must not be waited for.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);
/// Datagrams of one answer: 4 GiB of them, more sockets than a host can have.
const DATAGRAMS_MAX: usize = 65_536;

/// A socket for questions.
#[derive(Debug)]
pub struct Netlink {
    socket: OwnedFd,
    room: Vec<u8>,
    number: u32,
}

/// A message: its kind, and what follows its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetlinkMessage<'a> {
    /// Its kind.
    pub kind: u16,
    /// The number of the question.
    pub number: u32,
    /// The rest.
    pub body: &'a [u8],
}

impl Netlink {
    /// A socket for questions of this protocol, about the namespace that this thread is in.
    pub fn open(protocol: Protocol) -> io::Result<Netlink> {
        let (family, flags) = (AddressFamily::NETLINK, SocketFlags::CLOEXEC);
        let socket = socket_with(family, SocketType::RAW, flags, Some(protocol))?;
        for which in [Timeout::Recv, Timeout::Send] {
            set_socket_timeout(&socket, which, Some(ANSWERS_WITHIN))?;
        }
        Ok(Netlink { socket, room: vec![0; DATAGRAM_BYTES], number: 0 })
    }

    /// A socket for questions about another network namespace, such as /proc/PID/ns/net. A socket stays where it was
    /// made, so that a thread goes there, makes it, and ends.
    pub fn open_in(protocol: Protocol, namespace: &File) -> io::Result<Netlink> {
        let go = || {
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
            Netlink::open(protocol)
        };
        std::thread::scope(|scope| {
            let made = std::thread::Builder::new().name("netns".into()).spawn_scoped(scope, go)?;
            made.join()
                .unwrap_or_else(|_| Err(io::Error::other("the thread that enters the namespace ended")))
        })
    }

    /// Asks for one thing and hands over the message that answers.
    pub fn ask_one(
        &mut self,
        kind: u16,
        body: &[u8],
        each: &mut dyn FnMut(NetlinkMessage<'_>),
    ) -> io::Result<()> {
        self.ask(kind, REQUEST, body, each)
    }

    /// Asks for all there are and hands over each.
    pub fn ask_all(
        &mut self,
        kind: u16,
        body: &[u8],
        each: &mut dyn FnMut(NetlinkMessage<'_>),
    ) -> io::Result<()> {
        self.ask(kind, REQUEST | DUMP, body, each)
    }

    fn ask(
        &mut self,
        kind: u16,
        flags: u16,
        body: &[u8],
        each: &mut dyn FnMut(NetlinkMessage<'_>),
    ) -> io::Result<()> {
        self.number = self.number.wrapping_add(1);
        let question = question(kind, flags, self.number, body);
        sendto(&self.socket, &question, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        for _ in 0..DATAGRAMS_MAX {
            let (len, _) = recv(&self.socket, &mut self.room[..], RecvFlags::empty())?;
            if take(&self.room[..len.min(DATAGRAM_BYTES)], self.number, flags & DUMP == 0, each)? {
                return Ok(());
            }
        }
        Err(io::Error::other("netlink: the list does not end"))
    }
}

/// Hands over the messages of a datagram that answer this question; `true` when the answer is complete.
fn take(
    datagram: &[u8],
    number: u32,
    single: bool,
    each: &mut dyn FnMut(NetlinkMessage<'_>),
) -> io::Result<bool> {
    let mut complete = false;
    for message in messages(datagram) {
        match message? {
            // Left from a question that was given up.
            other if other.number != number => {}
            NetlinkMessage { kind: DONE, .. } => return Ok(true),
            NetlinkMessage { kind: ERROR, body, .. } => return answer(body).map(|()| true),
            message => {
                each(message);
                complete = single;
            }
        }
    }
    Ok(complete)
}

/// The error number of an `ERROR`; 0 acknowledges.
fn answer(body: &[u8]) -> io::Result<()> {
    match i32_at(body, 0) {
        Some(0) => Ok(()),
        Some(negative) => Err(io::Error::from_raw_os_error(negative.saturating_neg())),
        None => Err(malformed()),
    }
}

fn question(kind: u16, flags: u16, number: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEAD_BYTES + body.len());
    bytes.extend_from_slice(&((HEAD_BYTES + body.len()) as u32).to_ne_bytes());
    bytes.extend_from_slice(&kind.to_ne_bytes());
    bytes.extend_from_slice(&flags.to_ne_bytes());
    bytes.extend_from_slice(&number.to_ne_bytes());
    bytes.extend_from_slice(&0_u32.to_ne_bytes());
    bytes.extend_from_slice(body);
    bytes
}

/// The messages of a datagram. After an error there are no more.
pub fn messages(datagram: &[u8]) -> impl Iterator<Item = io::Result<NetlinkMessage<'_>>> {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let message = first(rest);
        rest = match &message {
            Ok((_, len)) => rest.get(aligned(*len)..).unwrap_or(&[]),
            Err(_) => &[],
        };
        Some(message.map(|(message, _)| message))
    })
}

fn first(bytes: &[u8]) -> io::Result<(NetlinkMessage<'_>, usize)> {
    let len = u32_at(bytes, 0).ok_or_else(malformed)? as usize;
    let body = bytes.get(HEAD_BYTES..len).ok_or_else(malformed)?;
    let (kind, number) = (u16_at(bytes, 4), u32_at(bytes, 8));
    let (kind, number) = kind.zip(number).ok_or_else(malformed)?;
    Ok((NetlinkMessage { kind, number, body }, len))
}

/// The attributes of a body: kind and value of each, until the bytes end or are none.
pub fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let len = usize::from(u16_at(rest, 0)?);
        // The two highest bits are flags: nested, and byte order of the net.
        let kind = u16_at(rest, 2)? & 0x3fff;
        let value = rest.get(4..len)?;
        rest = rest.get(aligned(len)..).unwrap_or(&[]);
        Some((kind, value))
    })
}

/// Messages and attributes begin at multiples of four.
fn aligned(len: usize) -> usize {
    len.saturating_add(3) & !3
}

fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "netlink: the kernel's answer is no message")
}

/// The number that stands there.
pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

/// The number that stands there.
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn i32_at(bytes: &[u8], at: usize) -> Option<i32> {
    Some(i32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn messages_are_taken_apart_and_what_is_none_is_refused() {
        let one = question(20, REQUEST, 7, b"abcde");
        let padded = [one.as_slice(), &[0; 3], &question(DONE, 0, 7, &[])].concat();
        let found: Vec<_> = messages(&padded).map(|it| it.expect("whole").kind).collect();
        assert_eq!(found, [20, DONE]);
        for (bytes, why) in
            [(&one[..10], "no head"), (&one[..18], "cut"), (&[4, 0, 0, 0][..], "shorter than a head")]
        {
            assert!(messages(bytes).next().is_some_and(|it| it.is_err()), "{why}");
        }
    }

    #[test]
    fn an_answer_ends_with_a_message_or_an_error_number() {
        let number = 3;
        let error = |number: i32| question(ERROR, 0, 3, &number.to_ne_bytes());
        for (datagram, single, expected) in [
            (question(20, 0, number, b"x"), true, Ok(true)),
            (question(20, 0, number, b"x"), false, Ok(false)),
            (question(20, 0, 2, b"x"), true, Ok(false)),
            (question(DONE, 0, number, &[]), false, Ok(true)),
            (error(0), false, Ok(true)),
            (error(-2), true, Err(Some(2))),
            (error(i32::MIN), true, Err(Some(i32::MAX))),
        ] {
            let got = take(&datagram, number, single, &mut |_| {});
            assert_eq!(got.map_err(|error| error.raw_os_error()), expected, "{datagram:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_messages_or_refused(bytes: Vec<u8>) {
            let _ = take(&bytes, 0, false, &mut |message| {
                attributes(message.body).for_each(|_| {});
            });
            prop_assert!(messages(&bytes).count() <= bytes.len());
            prop_assert!(attributes(&bytes).count() <= bytes.len());
        }
    }
}
