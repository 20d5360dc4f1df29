//! Systems that forbid or lack something: system calls, /proc, open files, processes, secrets.

mod few_files;
mod few_processes;
mod no_proc;
mod sandbox;
pub mod secrets;
