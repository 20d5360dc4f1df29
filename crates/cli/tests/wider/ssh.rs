//! HOST:PATH places over a real sshd.

mod copies;
mod settings;
mod start_files;
