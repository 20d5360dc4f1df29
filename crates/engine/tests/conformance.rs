//! One list of what every engine must do, run over each of them. A new engine adds one word to the last line.
//!
//! A failing test prints the line that replays its seed: `DATAPUMP_SEED=7 cargo test -p datapump-engine --test
//! conformance`.

mod checks;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use datapump_engine::sim::{Device, Faults, SimClock};
use datapump_engine::{Arena, Engine, Sim, Wait};

/// Makes an engine with so many slots, of so many bytes, and room for so many requests in flight; `None`, with the
/// reason printed, where the system has no such engine.
pub type Maker = fn(slots: u32, slot_bytes: u32, requests: u32, stop: Arc<AtomicBool>) -> Option<Engine>;

/// What makes an engine of the queued ones, by the way in which it waits.
macro_rules! waiting {
    ($make:ident: $($(#[$attribute:meta])* $engine:ident = $wait:ident),* $(,)?) => {
        $($(#[$attribute])* fn $engine(
            slots: u32,
            slot_bytes: u32,
            requests: u32,
            stop: Arc<AtomicBool>,
        ) -> Option<Engine> {
            $make(Arena::new(slots, slot_bytes), requests, stop, Wait::$wait)
        })*
    };
}

waiting!(make_threads: threads = Kernel, threads_spin = Spin, #[cfg(target_os = "linux")] threads_eventfd = Eventfd);

fn make_threads(arena: Arena, requests: u32, stop: Arc<AtomicBool>, wait: Wait) -> Option<Engine> {
    Some(Engine::threads(arena, requests, stop, wait).expect("threads can be had anywhere"))
}

fn inline(slots: u32, slot_bytes: u32, _: u32, stop: Arc<AtomicBool>) -> Option<Engine> {
    Some(Engine::inline(Arena::new(slots, slot_bytes), stop))
}

/// Perfect devices that finish in any order.
fn sim(slots: u32, slot_bytes: u32, _: u32, _: Arc<AtomicBool>) -> Option<Engine> {
    let faults = Faults { reorder_ps: 1_000_000, ..Faults::default() };
    let (source, sink) = (Device::default(), Device::default());
    let sim = Sim::new(SimClock::virtual_time(), source, sink, faults, 7041);
    Some(Engine::sim(Arena::new(slots, slot_bytes), sim))
}

#[cfg(target_os = "linux")]
waiting!(make_uring: uring = Kernel, uring_spin = Spin, uring_eventfd = Eventfd);

#[cfg(target_os = "linux")]
fn make_uring(arena: Arena, requests: u32, stop: Arc<AtomicBool>, wait: Wait) -> Option<Engine> {
    match Engine::uring(arena, requests, stop, wait) {
        Ok(engine) => Some(engine),
        Err(refused) => {
            eprintln!("SKIPPED on uring: {} failed with errno {}", refused.call, refused.errno.0);
            None
        }
    }
}

/// One test for each check of each engine.
macro_rules! conformance {
    ($($engine:ident),*: $checks:tt) => {
        $(conformance!(@one $engine $checks);)*
    };
    (@one $engine:ident [$($(#[$attribute:meta])* $check:ident),* $(,)?]) => {
        mod $engine {
            $($(#[$attribute])* #[test]
            fn $check() {
                crate::checks::$check(super::$engine);
            })*
        }
    };
}

/// The list. What needs pipes, `/dev/full` or direct I/O is told apart by its system.
macro_rules! conformance_of {
    ($($engine:ident),*) => {
        conformance!($($engine),*: [
            every_request_completes_once_with_its_token,
            nops_complete_with_their_length,
            reads_return_the_bytes_at_their_offset,
            a_read_at_the_end_returns_nothing,
            a_read_across_the_end_is_short,
            writes_land_at_their_offset_and_nowhere_else,
            a_span_leaves_the_rest_of_its_slot_alone,
            a_copy_by_random_requests_is_exact,
            writing_to_a_file_open_for_reading_fails,
            a_slot_in_flight_cannot_be_lent_again,
            the_files_of_a_taken_request_are_let_go,
            dropping_with_requests_in_flight_is_safe,
            waiting_with_nothing_in_flight_returns,
            #[cfg(target_os = "linux")]
            uncached_and_durable_requests_move_the_same_bytes,
            #[cfg(target_os = "linux")]
            uncached_requests_are_refused_where_there_are_none,
            #[cfg(target_os = "linux")]
            a_range_is_copied_inside_the_kernel,
            #[cfg(target_os = "linux")]
            unaligned_direct_io_is_refused,
            #[cfg(target_os = "linux")]
            a_full_device_says_so,
            #[cfg(unix)]
            a_stream_delivers_in_order_and_then_ends,
            #[cfg(unix)]
            a_stream_takes_all_part_by_part,
            #[cfg(unix)]
            a_read_from_a_stream_returns_what_is_there,
            #[cfg(unix)]
            a_write_to_a_closed_stream_fails,
            #[cfg(unix)]
            cancelling_ends_a_read_from_a_silent_stream,
            #[cfg(unix)]
            cancelling_ends_a_write_to_a_full_stream,
            #[cfg(unix)]
            after_a_cancellation_new_requests_work,
            #[cfg(unix)]
            dropping_ends_a_read_from_a_silent_pipe,
            #[cfg(unix)]
            stopping_ends_a_wait_for_a_stream,
        ]);
    };
}

#[cfg(target_os = "linux")]
conformance_of!(uring, uring_spin, uring_eventfd, threads, threads_spin, threads_eventfd, inline, sim);
#[cfg(not(target_os = "linux"))]
conformance_of!(threads, threads_spin, inline, sim);
