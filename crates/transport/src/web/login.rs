//! The login for a server: the value of the Authorization header, from the environment or `.netrc`.
//!
//! Must not know: requests, what the file looks like.

use std::path::PathBuf;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::netrc;

/// The value of the header, as somebody else would send it: `Bearer …`, `Basic …`.
const HEADER: &str = "PUMP_HTTP_AUTHORIZATION";

/// The header's value for the host that the user named, if the user has one for it.
pub(super) fn of(host: &str) -> Option<String> {
    if let Some(value) = std::env::var(HEADER).ok().filter(|value| !value.is_empty()) {
        return Some(value);
    }
    // An address of IPv6 has brackets in a URL alone.
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let (user, password) = netrc::find(&std::fs::read(file()?).ok()?, host)?;
    // RFC 7617.
    Some(format!("Basic {}", BASE64_STANDARD.encode([user, password].join(&b':'))))
}

/// As curl has it: `$NETRC`, else the file in the home folder, whoever else may read it.
fn file() -> Option<PathBuf> {
    let named = std::env::var_os("NETRC").map(PathBuf::from);
    named.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".netrc")))
}
