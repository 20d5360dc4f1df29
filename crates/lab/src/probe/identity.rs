//! Identity of the machine and of the program's call: tells rows apart that name the same host.
//!
//! Must not know: rows.

use std::fs;
use std::time::SystemTime;

/// Digits of an identity: 64 bits.
const DIGITS: usize = 16;

/// machine-id(5): the number itself is to be kept secret, and a hash of it for one use is not to be traced back.
const MACHINE: &str = "Datapump 2026-11-23 the machine of a row";
const SESSION: &str = "Datapump 2026-11-23 the session of a row";

/// This installation of a system; `None` where it has no number.
pub fn machine_id() -> Option<String> {
    let read = |path: &&str| fs::read_to_string(path).ok().filter(|id| !id.trim().is_empty());
    let id = ["/etc/machine-id", "/var/lib/dbus/machine-id"].iter().find_map(read)?;
    Some(digits(MACHINE, id.trim().as_bytes()))
}

/// Another one for each call.
pub fn session() -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let what = format!("{} {} {:?}", std::process::id(), now.as_nanos(), std::thread::current().id());
    digits(SESSION, what.as_bytes())
}

fn digits(what_for: &str, of: &[u8]) -> String {
    let hash = blake3::Hash::from_bytes(blake3::derive_key(what_for, of));
    hash.to_hex()[..DIGITS].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_stays_and_a_session_does_not() {
        assert_eq!(machine_id(), machine_id());
        assert_ne!(session(), session());
        assert_eq!(session().len(), DIGITS);
        let id = fs::read_to_string("/etc/machine-id").unwrap_or_default();
        assert!(machine_id().is_none_or(|hashed| !id.contains(&hashed)));
    }
}
