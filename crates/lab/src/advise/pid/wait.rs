//! One look at a thread: its state, and where in the kernel it waits.
//!
//! The kernel's stack tells most (root may read it), then the number of the system call and what its file is, then the
//! one function that it sleeps in. Must not know: files of /proc, what the waits amount to.

use schemars::JsonSchema;
use serde::Serialize;

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Doing {
    /// It runs, or wants to and waits for a CPU.
    Running,
    /// It waits for data of a file or device.
    Source,
    /// It waits until a file or device takes data.
    Sink,
    /// It waits for stable storage.
    Sync,
    /// It waits for names and attributes.
    Metadata,
    /// It waits for a pipe to be filled by a process that is not watched.
    PipeIn,
    /// It waits for a pipe to be emptied by a process that is not watched.
    PipeOut,
    /// It waits for data of a connection.
    NetworkIn,
    /// It waits for a connection to take data.
    NetworkOut,
    /// It waits for any of its connections, which have taken all that there was.
    Poll,
    /// It waits for any of its requests, of which it cannot be told here what they are.
    Queue,
    /// It sleeps for a time that it chose.
    Sleep,
    /// It waits for another process or thread that is watched, too.
    Within,
    /// It waits for none of these.
    Other,
}

/// What one system call waits for, given what its file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenAs {
    /// A file or a device.
    File,
    /// A pipe, a named one too, or a socket inside this host.
    Pipe,
    /// A TCP connection.
    Tcp,
    /// Something else, or unknown.
    Other,
}

/// Parts of names of functions, and what is done there. The first rule of which a function is on the stack counts.
const STACK: &[(&[&str], Doing)] = &[
    (
        &["pipe_read", "wait_for_partner", "pipe_wait_readable", "unix_stream_read", "unix_stream_data_wait"],
        Doing::PipeIn,
    ),
    (&["pipe_write", "pipe_wait_writable", "unix_stream_sendmsg", "sock_alloc_send_pskb"], Doing::PipeOut),
    (&["tcp_recvmsg", "sk_wait_data", "inet_csk_accept", "inet_accept"], Doing::NetworkIn),
    (&["tcp_sendmsg", "sk_stream_wait_memory", "inet_stream_connect", "tcp_splice"], Doing::NetworkOut),
    (&["do_sys_poll", "do_select", "ep_poll", "do_epoll_wait"], Doing::Poll),
    (&["hrtimer_nanosleep", "do_nanosleep", "common_nsleep"], Doing::Sleep),
    (&["io_cqring_wait", "read_events", "do_io_getevents"], Doing::Queue),
    (&["do_wait", "do_sigtimedwait", "sigsuspend", "sys_pause", "io_wq_worker", "futex_wait"], Doing::Within),
    (
        &[
            "vfs_fsync",
            "do_fsync",
            "ksys_sync",
            "sync_filesystem",
            "file_write_and_wait",
            "generic_write_sync",
        ],
        Doing::Sync,
    ),
    (
        &[
            "filemap_fault",
            "filemap_splice_read",
            "copy_splice_read",
            "do_splice_read",
            "splice_file_to_pipe",
        ],
        Doing::Source,
    ),
    (&["balance_dirty_pages", "iter_file_splice_write", "do_splice_from", "vfs_fallocate"], Doing::Sink),
    (
        &["vfs_write", "vfs_iter_write", "ksys_write", "ksys_pwrite", "io_write", "do_writev", "do_pwritev"],
        Doing::Sink,
    ),
    (
        &["vfs_read", "vfs_iter_read", "ksys_read", "ksys_pread", "io_read", "do_readv", "do_preadv"],
        Doing::Source,
    ),
    (&["__fput", "filp_flush", "do_truncate", "do_ftruncate"], Doing::Sink),
    (&["path_openat", "do_filp_open", "vfs_statx", "do_rename", "do_unlink", "do_mkdir"], Doing::Metadata),
    (
        &["iterate_dir", "vfs_getattr", "notify_change", "setxattr", "do_linkat", "filename_lookup"],
        Doing::Metadata,
    ),
];

/// Functions that a thread may be said to sleep in (/proc/PID/wchan) and that mean one thing only.
const SLEEPS: &[(&str, Doing)] = &[
    ("pipe_read", Doing::PipeIn),
    ("pipe_write", Doing::PipeOut),
    ("unix_stream_read", Doing::PipeIn),
    ("sk_wait_data", Doing::NetworkIn),
    ("sk_stream_wait_memory", Doing::NetworkOut),
    ("balance_dirty_pages", Doing::Sink),
    ("jbd2_log_wait_commit", Doing::Sync),
    ("folio_wait_writeback", Doing::Sync),
    ("nanosleep", Doing::Sleep),
    ("poll_schedule_timeout", Doing::Poll),
    ("do_sys_poll", Doing::Poll),
    ("do_select", Doing::Poll),
    ("ep_poll", Doing::Poll),
    ("io_cqring_wait", Doing::Queue),
    ("folio_wait_bit", Doing::Queue),
    ("io_schedule", Doing::Queue),
    ("do_wait", Doing::Within),
    ("sigsuspend", Doing::Within),
    ("futex", Doing::Within),
];

/// What a stack of the kernel says: `[<0>] vfs_read+0x23a/0x360` a line, the innermost first.
pub fn by_stack(stack: &str) -> Option<Doing> {
    let names: Vec<&str> = stack.lines().filter_map(function).collect();
    if names.is_empty() {
        return None;
    }
    let on_stack = |part: &&str| names.iter().any(|name| name.contains(*part));
    let rule = STACK.iter().find(|(parts, _)| parts.iter().any(on_stack));
    Some(rule.map_or(Doing::Other, |(_, doing)| *doing))
}

fn function(line: &str) -> Option<&str> {
    let name = line.trim().trim_start_matches("[<0>] ");
    let name = name.split_once('+').map_or(name, |(name, _)| name);
    (!name.is_empty() && name != "0xffffffffffffffff").then_some(name)
}

/// What the function that it sleeps in says.
pub fn by_sleep(name: &str) -> Option<Doing> {
    let rule = SLEEPS.iter().find(|(part, _)| name.contains(part));
    rule.map(|(_, doing)| *doing)
}

/// A system call that a thread is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemCall {
    /// Its number.
    pub number: u32,
    /// What it was given.
    pub arguments: [u64; 6],
}

impl SystemCall {
    /// The first argument, which is a descriptor in many calls.
    pub fn descriptor(&self) -> u32 {
        self.arguments[0] as u32
    }

    /// Whether it waits for no file at all, but for a time: select and poll are used so, by rsync for one.
    pub fn is_a_sleep(&self) -> bool {
        let rule = TIMED.iter().find(|rule| rule.number == self.number);
        rule.is_some_and(|rule| {
            let timeout = self.arguments[rule.timeout];
            let ends = if rule.is_ms { timeout as i32 >= 0 } else { timeout != 0 };
            self.arguments[rule.files] as u32 == 0 && ends
        })
    }
}

/// The call, of /proc/PID/task/TID/syscall; `running` and -1 are none.
pub fn system_call(line: &str) -> Option<SystemCall> {
    let mut words = line.split_whitespace();
    let number = words.next()?.parse().ok()?;
    let mut arguments = [0; 6];
    for argument in &mut arguments {
        *argument = u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()?;
    }
    Some(SystemCall { number, arguments })
}

/// A call that waits for files or for a time: which arguments say how many files, and how long.
struct TimedCall {
    number: u32,
    files: usize,
    timeout: usize,
    /// The time is in milliseconds, and below 0 without end; else it is where one stands, and 0 is without end.
    is_ms: bool,
}

const fn timed(number: u32, files: usize, timeout: usize, is_ms: bool) -> TimedCall {
    TimedCall { number, files, timeout, is_ms }
}

/// poll, select, pselect6 and ppoll.
#[cfg(target_arch = "x86_64")]
const TIMED: [TimedCall; 4] =
    [timed(7, 1, 2, true), timed(23, 0, 4, false), timed(270, 0, 4, false), timed(271, 1, 2, false)];
/// pselect6 and ppoll.
#[cfg(target_arch = "aarch64")]
const TIMED: [TimedCall; 2] = [timed(72, 0, 4, false), timed(73, 1, 2, false)];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const TIMED: [TimedCall; 0] = [];

/// Kinds of system calls that are told apart by their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Read,
    Write,
    Is(Doing),
}

/// Numbers of this machine's system calls (Linux, arch/x86/entry/syscalls/syscall_64.tbl and
/// include/uapi/asm-generic/unistd.h); none for machines whose numbers are not listed.
#[cfg(target_arch = "x86_64")]
const CALLS: &[(Call, &[u32])] = &[
    (Call::Read, &[0, 17, 19, 295, 327]),
    (Call::Write, &[1, 18, 20, 296, 328]),
    (Call::Is(Doing::Sync), &[26, 74, 75, 162, 277, 306]),
    (Call::Is(Doing::Poll), &[7, 23, 232, 270, 271, 281, 441]),
    (Call::Is(Doing::Sleep), &[35, 230]),
    (Call::Is(Doing::Queue), &[40, 208, 275, 326, 426]),
    (Call::Is(Doing::NetworkIn), &[43, 45, 47, 288, 299]),
    (Call::Is(Doing::NetworkOut), &[42, 44, 46, 307]),
    (Call::Is(Doing::Sink), &[3, 77, 285]),
    (Call::Is(Doing::Within), &[34, 61, 130, 202, 247]),
    (Call::Is(Doing::Metadata), &[2, 4, 5, 6, 82, 83, 86, 87, 217, 257, 262, 263, 264, 265, 316, 332]),
];
#[cfg(target_arch = "aarch64")]
const CALLS: &[(Call, &[u32])] = &[
    (Call::Read, &[63, 65, 67, 69, 286]),
    (Call::Write, &[64, 66, 68, 70, 287]),
    (Call::Is(Doing::Sync), &[81, 82, 83, 84, 227, 267]),
    (Call::Is(Doing::Poll), &[22, 72, 73, 441]),
    (Call::Is(Doing::Sleep), &[101, 115]),
    (Call::Is(Doing::Queue), &[4, 71, 76, 285, 426]),
    (Call::Is(Doing::NetworkIn), &[202, 207, 212, 242, 243]),
    (Call::Is(Doing::NetworkOut), &[203, 206, 211, 269]),
    (Call::Is(Doing::Sink), &[46, 47, 57]),
    (Call::Is(Doing::Within), &[95, 98, 133, 260]),
    (Call::Is(Doing::Metadata), &[34, 35, 37, 38, 56, 61, 79, 276, 291]),
];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const CALLS: &[(Call, &[u32])] = &[];

/// What a system call on such a file waits for.
pub fn by_call(system_call: &SystemCall, open: OpenAs) -> Option<Doing> {
    let (call, _) = CALLS.iter().find(|(_, numbers)| numbers.contains(&system_call.number))?;
    match (*call, open) {
        (Call::Is(Doing::Poll), _) if system_call.is_a_sleep() => Some(Doing::Sleep),
        (Call::Read, OpenAs::File) => Some(Doing::Source),
        (Call::Write, OpenAs::File) => Some(Doing::Sink),
        (Call::Read, OpenAs::Pipe) => Some(Doing::PipeIn),
        (Call::Write, OpenAs::Pipe) => Some(Doing::PipeOut),
        (Call::Read, OpenAs::Tcp) => Some(Doing::NetworkIn),
        (Call::Write, OpenAs::Tcp) => Some(Doing::NetworkOut),
        (Call::Read | Call::Write, OpenAs::Other) => None,
        (Call::Is(Doing::NetworkIn), OpenAs::Pipe) => Some(Doing::PipeIn),
        (Call::Is(Doing::NetworkOut), OpenAs::Pipe) => Some(Doing::PipeOut),
        (Call::Is(doing), _) => Some(doing),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_says_what_is_waited_for() {
        for (functions, expected) in [
            ("folio_wait_bit_common filemap_get_pages filemap_read vfs_read ksys_read", Doing::Source),
            (
                "io_schedule_timeout balance_dirty_pages generic_perform_write vfs_write ksys_write",
                Doing::Sink,
            ),
            ("wb_wait_for_completion ext4_da_write_begin generic_perform_write vfs_write", Doing::Sink),
            (
                "jbd2_log_wait_commit ext4_sync_file vfs_fsync_range ext4_buffered_write_iter vfs_write",
                Doing::Sync,
            ),
            ("folio_wait_bit_common filemap_fault __do_fault generic_perform_write vfs_write", Doing::Source),
            ("anon_pipe_read vfs_read ksys_read", Doing::PipeIn),
            ("wait_for_partner fifo_open do_dentry_open path_openat", Doing::PipeIn),
            ("pipe_write vfs_write", Doing::PipeOut),
            ("wait_woken sk_wait_data tcp_recvmsg_locked inet6_recvmsg vfs_read", Doing::NetworkIn),
            (
                "wait_woken sk_stream_wait_memory tcp_sendmsg_locked sock_write_iter vfs_write",
                Doing::NetworkOut,
            ),
            ("poll_schedule_timeout.constprop.0 do_sys_poll __x64_sys_poll", Doing::Poll),
            ("hrtimer_nanosleep common_nsleep __x64_sys_clock_nanosleep", Doing::Sleep),
            ("io_cqring_wait __do_sys_io_uring_enter", Doing::Queue),
            ("do_wait kernel_wait4", Doing::Within),
            (
                "folio_wait_bit_common iter_file_splice_write direct_splice_actor do_splice_direct",
                Doing::Sink,
            ),
            ("__lookup_slow path_openat do_filp_open do_sys_openat2", Doing::Metadata),
            ("something_new", Doing::Other),
        ] {
            let lines: Vec<String> =
                functions.split(' ').map(|name| format!("[<0>] {name}+0x1/0x2")).collect();
            assert_eq!(by_stack(&lines.join("\n")), Some(expected), "{functions}");
        }
        assert_eq!(by_stack(""), None);
        assert_eq!(by_stack("[<0>] 0xffffffffffffffff\n"), None, "the end mark of old kernels");
    }

    #[test]
    fn a_call_says_what_is_waited_for_when_its_file_is_known() {
        let seen = system_call("0 0x3 0x7f 0x20000 0x0 0x0 0x0 0x7f 0x7f\n").expect("a call");
        assert_eq!((seen.number, seen.descriptor(), seen.arguments[2]), (0, 3, 0x20000));
        for line in ["running\n", "-1 0x7f 0x7f\n", "", "0", "0 3", "0 0x3 0x7f"] {
            assert_eq!(system_call(line), None, "{line}");
        }
        if cfg!(target_arch = "x86_64") {
            for (number, open, expected) in [
                (0, OpenAs::File, Some(Doing::Source)),
                (1, OpenAs::File, Some(Doing::Sink)),
                (0, OpenAs::Pipe, Some(Doing::PipeIn)),
                (1, OpenAs::Tcp, Some(Doing::NetworkOut)),
                (0, OpenAs::Other, None),
                (74, OpenAs::File, Some(Doing::Sync)),
                (7, OpenAs::Other, Some(Doing::Poll)),
                (9999, OpenAs::File, None),
            ] {
                let call = SystemCall { number, arguments: [3, 1, 0, 0, 0, 0] };
                assert_eq!(by_call(&call, open), expected, "{number} {open:?}");
            }
        }
    }

    #[test]
    fn who_waits_for_no_file_but_a_time_sleeps() {
        let for_ever = u64::from(u32::MAX);
        let rows: &[(u32, [u64; 6], Doing)] = if cfg!(target_arch = "x86_64") {
            &[
                (270, [0, 0, 0, 0, 0x7ff0, 0], Doing::Sleep),
                (270, [4, 0x7f00, 0, 0, 0x7ff0, 0], Doing::Poll),
                (270, [0, 0, 0, 0, 0, 0], Doing::Poll),
                (23, [0, 0, 0, 0, 0x7ff0, 0], Doing::Sleep),
                (7, [0, 0, 50, 0, 0, 0], Doing::Sleep),
                (7, [0, 0, for_ever, 0, 0, 0], Doing::Poll),
                (7, [0x7f00, 1, 50, 0, 0, 0], Doing::Poll),
                (271, [0, 0, 0x7ff0, 0, 0, 0], Doing::Sleep),
                (232, [0, 0, 50, 0, 0, 0], Doing::Poll),
            ]
        } else if cfg!(target_arch = "aarch64") {
            &[
                (72, [0, 0, 0, 0, 0x7ff0, 0], Doing::Sleep),
                (72, [4, 0x7f00, 0, 0, 0x7ff0, 0], Doing::Poll),
                (73, [0, 0, 0x7ff0, 0, 0, 0], Doing::Sleep),
                (73, [0, 0, 0, 0, 0, 0], Doing::Poll),
            ]
        } else {
            &[]
        };
        for &(number, arguments, expected) in rows {
            let call = SystemCall { number, arguments };
            assert_eq!(by_call(&call, OpenAs::Other), Some(expected), "{call:?}");
        }
    }

    #[test]
    fn the_function_that_it_sleeps_in_says_something() {
        for (name, expected) in [
            ("anon_pipe_read", Some(Doing::PipeIn)),
            ("folio_wait_bit_common", Some(Doing::Queue)),
            ("poll_schedule_timeout.constprop.0", Some(Doing::Poll)),
            ("0", None),
            ("", None),
        ] {
            assert_eq!(by_sleep(name), expected, "{name}");
        }
    }
}
