//! Files on the web as sources.

mod files;
mod lies;
mod proxies;
mod servers;
mod states;
