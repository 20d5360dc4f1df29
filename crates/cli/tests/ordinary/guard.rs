//! No step of a command destroys what the same command reads, and what must not happen is refused.

mod links_into_target;
mod only_content;
mod other_sources;
mod refusals;
mod target_in_source;
mod target_is_source;
