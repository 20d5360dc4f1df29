//! Parameters of the sockets below connections: congestion control, buffers, busy polling, who puts parts together.
//! Wished by the user, tried on a socket of this host before anything is begun.
//!
//! Must not know: sessions, what is sent.

pub(crate) mod datagram;
mod host_settings;

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use datapump_engine::os::linux::{set_busy_poll, set_pacing};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType, socket, sockopt};
use serde::{Deserialize, Serialize};

pub use host_settings::host_settings;

/// The assembler of a block that arrives in parts. Sealed bytes are opened before they are assembled: it concerns
/// others alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Assembly {
    /// A receive returns once the block is full: `MSG_WAITALL` of recv(2).
    #[default]
    Kernel,
    /// A receive returns what is there, and the next one goes on behind it in the block's slot.
    Pump,
}

datapump_core::in_words! {
    Assembly is "one who assembles" {
        Kernel "kernel" "MSG_WAITALL"
        Pump "pump" "One receive after the other"
    }
}

/// Requested socket options; the kernel chooses each one that is not set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SocketOptions {
    /// How the kernel finds the speed of the path: a name that it knows. Both sides use it.
    pub congestion: Option<String>,
    /// Size of both of a socket's buffers in bytes, at both sides. The kernel's own tuning of them ends with that.
    pub buffer_bytes: Option<u32>,
    /// The assembler of blocks, at both sides; the kernel unless set.
    pub assembly: Option<Assembly>,
    /// How long a receive looks at the device itself before it sleeps. Burns CPU: each host decides for itself.
    #[serde(skip)]
    pub busy_poll: Option<Duration>,
}

impl SocketOptions {
    /// What a caller wishes, and where it wishes nothing, what this side would have.
    pub fn or(&self, own: &SocketOptions) -> SocketOptions {
        SocketOptions {
            congestion: self.congestion.clone().or_else(|| own.congestion.clone()),
            buffer_bytes: self.buffer_bytes.or(own.buffer_bytes),
            assembly: self.assembly.or(own.assembly),
            busy_poll: own.busy_poll,
        }
    }

    /// Whether this host can give all that. In words for people, if not.
    pub fn check(&self) -> Result<(), String> {
        if *self == SocketOptions::default() {
            return Ok(());
        }
        let tried = socket(AddressFamily::INET, SocketType::STREAM, None)
            .map_err(|errno| format!("make a socket: {}", error_message(errno)))?;
        self.apply(tried.as_fd())?;
        self.check_buffers(tried.as_fd())
    }

    /// Sets all that on a TCP socket.
    pub fn apply(&self, socket: BorrowedFd<'_>) -> Result<(), String> {
        if let Some(name) = &self.congestion {
            sockopt::set_tcp_congestion(socket, name).map_err(|errno| unknown_congestion(name, errno))?;
        }
        if let Some(bytes) = self.buffer_bytes {
            let set = sockopt::set_socket_send_buffer_size(socket, bytes as usize)
                .and_then(|()| sockopt::set_socket_recv_buffer_size(socket, bytes as usize));
            set.map_err(|errno| format!("--socket-buffer: {}", error_message(errno)))?;
        }
        if let Some(time) = self.busy_poll {
            let us = u32::try_from(time.as_micros()).unwrap_or(u32::MAX);
            set_busy_poll(socket, us).map_err(|error| {
                format!(
                    "--busy-poll: {error}; more than net.core.busy_read needs CAP_NET_ADMIN, so leave it out or raise \
                     that: sysctl -w net.core.busy_read={us}"
                )
            })?;
        }
        Ok(())
    }

    /// The kernel grants less without a word, and twice what it grants is for its own bookkeeping: socket(7).
    fn check_buffers(&self, socket: BorrowedFd<'_>) -> Result<(), String> {
        let Some(asked) = self.buffer_bytes else { return Ok(()) };
        let sizes = [
            ("wmem_max", sockopt::socket_send_buffer_size(socket)),
            ("rmem_max", sockopt::socket_recv_buffer_size(socket)),
        ];
        for (limit, size) in sizes {
            let got = size.map_err(|errno| format!("--socket-buffer: {}", error_message(errno)))? / 2;
            if got < asked as usize {
                return Err(format!(
                    "--socket-buffer: the system gives {got} bytes at most and {asked} were asked for; ask for less, \
                     or raise the limit: sysctl -w net.core.{limit}={asked}"
                ));
            }
        }
        Ok(())
    }
}

fn unknown_congestion(name: &str, errno: Errno) -> String {
    const NAMES: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let names = std::fs::read_to_string(NAMES).unwrap_or_default();
    let advice = match errno {
        Errno::PERM | Errno::ACCESS => {
            "only root may use it, unless net.ipv4.tcp_allowed_congestion_control has it"
        }
        _ => "choose one of those, or load its module",
    };
    format!(
        "--congestion {}: {}; available: {} ({advice})",
        datapump_core::problem::shown(name.as_bytes()),
        error_message(errno),
        datapump_core::problem::shown(names.trim().as_bytes())
    )
}

fn error_message(errno: Errno) -> String {
    datapump_core::problem::system_words(errno.raw_os_error())
}

/// What a connection has under way at most by the largest buffers that this host's kernel gives it (`tcp_rmem`,
/// `tcp_wmem`): a half of the one, four fifths of the other, because records and half empty packets take the rest. The
/// other host is taken for one like this. What Linux has by default where the kernel does not tell.
pub fn kernel_buffer_bytes() -> u64 {
    const RECEIVE_BYTES: u64 = 6 << 20;
    const SEND_BYTES: u64 = 4 << 20;
    let receive = last_number("ipv4/tcp_rmem").unwrap_or(RECEIVE_BYTES) / 2;
    receive.min(last_number("ipv4/tcp_wmem").unwrap_or(SEND_BYTES) / 5 * 4)
}

/// Lets a connection that is always full have more under way, where what a program may ask for (`wmem_max`, of which
/// the kernel grants twice) is more than what the kernel's own tuning gives it (`tcp_wmem`).
pub(crate) fn deepen_send_buffer(socket: BorrowedFd<'_>) {
    let (asked, tuned) = (last_number("core/wmem_max"), last_number("ipv4/tcp_wmem"));
    if let (Some(asked), Some(tuned)) = (asked, tuned)
        && asked.saturating_mul(2) > tuned
    {
        // Without it the connection is as it was.
        let _ = sockopt::set_socket_send_buffer_size(socket, asked as usize);
    }
}

/// Lets the kernel spread over a round trip what it sends in one. With a queue of a fifteenth of what is under way one
/// connection of CUBIC then carries twice as much: docs/studies/long-path.md.
pub(crate) fn pace(socket: BorrowedFd<'_>) {
    // Without it the connection is as it was.
    let _ = set_pacing(socket);
}

/// The last number of a setting of the network's: the largest of three.
fn last_number(name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/sys/net/{name}")).ok()?;
    text.split_ascii_whitespace().last()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn what_the_kernel_refuses_is_told_with_what_it_has() {
        let refusal = |options: SocketOptions| options.check().expect_err("nobody has that");
        let named = |name: &str| SocketOptions { congestion: Some(name.into()), ..SocketOptions::default() };
        for name in ["no-such-control", "", "a\nname that is far longer than any that the kernel knows"] {
            let said = refusal(named(name));
            assert!(said.contains("available: ") && said.contains("reno") && !said.contains('\n'), "{said}");
        }
        let huge = SocketOptions { buffer_bytes: Some(1 << 30), ..SocketOptions::default() };
        assert!(refusal(huge).contains("sysctl -w net.core."));
    }

    #[test]
    fn what_is_set_is_there() {
        let options = SocketOptions {
            congestion: Some("reno".into()),
            buffer_bytes: Some(65_536),
            ..Default::default()
        };
        assert_eq!(options.check(), Ok(()));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        options.apply(listener.as_fd()).expect("it was tried");
        assert_eq!(sockopt::tcp_congestion(&listener).as_deref(), Ok("reno"));
        assert!(sockopt::socket_recv_buffer_size(&listener).is_ok_and(|bytes| bytes >= 65_536));
    }

    /// The caller's wish is before the server's, but how a host burns its CPU is its own.
    #[test]
    fn a_wish_of_the_caller_comes_first() {
        let time = |ms| Some(Duration::from_millis(ms));
        let caller =
            SocketOptions { congestion: Some("a".into()), busy_poll: time(1), ..SocketOptions::default() };
        let buffer_bytes = Some(7);
        let assembly = Some(Assembly::Pump);
        let own = SocketOptions { congestion: Some("b".into()), buffer_bytes, busy_poll: time(2), assembly };
        let both = SocketOptions { congestion: Some("a".into()), ..own.clone() };
        assert_eq!(caller.or(&own), both);
        let told = serde_json::to_string(&caller).expect("it has a form");
        assert_eq!(serde_json::from_str::<SocketOptions>(&told).expect("it is read").busy_poll, None);
    }
}
