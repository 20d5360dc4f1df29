//! HOST:PATH places with a plain script in the place of ssh.

mod copies;
mod relayed;
mod silent;
