//! What a server may want to know of who asks: the value of the Authorization header, from the environment or `.netrc`.
//!
//! Must not know: requests.

use std::path::PathBuf;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// The value of the header, as somebody else would send it: `Bearer …`, `Basic …`.
const HEADER: &str = "PUMP_HTTP_AUTHORIZATION";

/// The header's value for the host that the user named, if the user has one for it.
pub(super) fn of(host: &str) -> Option<String> {
    if let Some(value) = std::env::var(HEADER).ok().filter(|value| !value.is_empty()) {
        return Some(value);
    }
    let (user, password) = find(&std::fs::read_to_string(netrc()?).ok()?, host)?;
    // RFC 7617.
    Some(format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{password}"))))
}

/// As curl has it: `$NETRC`, else the file in the home folder.
fn netrc() -> Option<PathBuf> {
    let named = std::env::var_os("NETRC").map(PathBuf::from);
    named.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".netrc")))
}

/// User and password of a host, or of the default, in a file of the format of ftp(1).
fn find(text: &str, host: &str) -> Option<(String, String)> {
    let without_macros = text.split("\n\n").map(|part| part.split("macdef").next().unwrap_or_default());
    let words: Vec<String> = without_macros.flat_map(words).collect();
    let mut words = words.into_iter();
    let (mut is_ours, mut user, mut password) = (false, None, None);
    while let Some(word) = words.next() {
        match &word[..] {
            "machine" | "default" if is_ours => break,
            "machine" => is_ours = words.next().is_some_and(|name| name.eq_ignore_ascii_case(host)),
            "default" => is_ours = true,
            "login" if is_ours => user = words.next(),
            "password" if is_ours => password = words.next(),
            "login" | "password" | "account" => drop(words.next()),
            _ => {}
        }
    }
    is_ours.then_some((user.unwrap_or_default(), password?))
}

/// Words between blanks; one that begins with a quote ends with the next, and a backslash takes what follows as it is.
fn words(text: &str) -> Vec<String> {
    let (mut found, mut letters) = (Vec::new(), text.chars().peekable());
    while let Some(&first) = letters.peek() {
        if first.is_whitespace() {
            letters.next();
            continue;
        }
        let is_quoted = letters.next_if_eq(&'"').is_some();
        let mut word = String::new();
        while let Some(letter) =
            letters.next_if(|&it| if is_quoted { it != '"' } else { !it.is_whitespace() })
        {
            match letter {
                '\\' if is_quoted => word.extend(letters.next()),
                letter => word.push(letter),
            }
        }
        letters.next();
        found.push(word);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_its_own_login_or_the_default() {
        let text = "machine one.net login a password b\nmachine two.net\n  login c\n  account x\n  \
                    password \"d e\\\"\"\nmacdef init\nmachine one.net password wrong\n\n\
                    default login guest password none\n";
        let pair = |user: &str, password: &str| Some((user.to_string(), password.to_string()));
        assert_eq!(find(text, "one.net"), pair("a", "b"));
        assert_eq!(find(text, "TWO.net"), pair("c", "d e\""));
        assert_eq!(find(text, "three.net"), pair("guest", "none"));
        assert_eq!(find("machine one.net login a", "one.net"), None);
        assert_eq!(find("machine one.net login a password b", "two.net"), None);
        assert_eq!(find("machine", "two.net"), None);
    }
}
