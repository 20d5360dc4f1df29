//! CPU time of the threads that io_uring starts within this process to serve requests that would have blocked.
//!
//! Each is named after the thread whose ring it serves. That name has the number which the system itself has for that
//! thread: in a container with numbers of its own they are not found, and count as other threads of the process.
//!
//! Must not know: rings, requests, who asks.

use std::fs;
use std::path::Path;

use super::kernel::ran_ns;

/// What those of this thread have run until now. Of one that has ended, as after five idle seconds, nothing is known.
pub(super) fn workers_ns() -> u64 {
    let name = name_of(rustix::thread::gettid().as_raw_nonzero().get());
    let Ok(threads) = fs::read_dir("/proc/self/task") else { return 0 };
    threads.flatten().filter_map(|thread| ran_if(&thread.path(), &name)).sum()
}

/// As io_uring names them: io_uring/io-wq.c.
fn name_of(thread: i32) -> String {
    format!("iou-wrk-{thread}")
}

/// What a thread has run, if it has this name.
fn ran_if(thread: &Path, name: &str) -> Option<u64> {
    let comm = fs::read_to_string(thread.join("comm")).ok()?;
    let schedstat = || fs::read_to_string(thread.join("schedstat")).ok();
    (comm.trim_end() == name).then(|| ran_ns(&schedstat()?))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_workers_of_that_thread_count() {
        let folder = tempfile::tempdir().expect("room");
        let name = name_of(4242);
        for (what, comm, schedstat, expected) in [
            ("its worker", "iou-wrk-4242\n", "77 1 2\n", Some(77)),
            ("another's", "iou-wrk-424\n", "77 1 2\n", None),
            ("no worker", "pump\n", "77 1 2\n", None),
            ("told by no kernel", "iou-wrk-4242\n", "", None),
        ] {
            for (file, text) in [("comm", comm), ("schedstat", schedstat)] {
                fs::write(folder.path().join(file), text).expect("room");
            }
            assert_eq!(ran_if(folder.path(), &name), expected, "{what}");
        }
    }
}
