//! The way to a server: over a proxy that the environment names, as curl decides it. Each scheme has a variable of its
//! own; `HTTP_PROXY` in capitals is none, as a web server's programs get a client's header under that name.
//!
//! Must not know: connections.

use std::net::IpAddr;

use datapump_core::problem::Class;
use ureq::{Proxy, ProxyProtocol};

use super::WebFault;
use super::url::WebUrl;

/// Which variables name the proxy of a scheme, the first that is not empty counts.
const OF_HTTP: &[&str] = &["http_proxy", "all_proxy", "ALL_PROXY"];
const OF_HTTPS: &[&str] = &["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
const OF_NONE: &[&str] = &["no_proxy", "NO_PROXY"];

/// What the environment says.
#[derive(Debug)]
pub(super) struct Proxies {
    http: Result<Option<Proxy>, WebFault>,
    https: Result<Option<Proxy>, WebFault>,
    no_proxy: String,
}

/// How a URL is reached.
#[derive(Debug)]
pub(super) enum Way<'proxy> {
    Direct,
    /// The proxy is asked for the URL as a whole (RFC 9112, section 3.2.2): many let nothing else pass to port 80.
    Forwarded(&'proxy Proxy),
    /// The proxy makes a connection to the server (CONNECT).
    Tunnel(&'proxy Proxy),
}

impl Proxies {
    pub(super) fn of_environment() -> Proxies {
        Proxies::from_variables(&|name| std::env::var(name).ok())
    }

    fn from_variables(variable: &dyn Fn(&str) -> Option<String>) -> Proxies {
        let first = |names: &[&'static str]| {
            let mut told = names.iter().filter_map(|name| Some((*name, variable(name)?)));
            told.find(|(_, value)| !value.is_empty())
        };
        let proxy = |names| first(names).map(|(name, value)| proxy(name, &value)).transpose();
        let no_proxy = first(OF_NONE).map(|(_, value)| value).unwrap_or_default();
        Proxies { http: proxy(OF_HTTP), https: proxy(OF_HTTPS), no_proxy }
    }

    /// The proxy to which requests for http are forwarded, if there is one.
    pub(super) fn forwarder(&self) -> Option<&Proxy> {
        self.http.as_ref().ok()?.as_ref().filter(|proxy| proxy.protocol() == ProxyProtocol::Http)
    }

    /// Errors: the variable names no proxy that can be used.
    pub(super) fn way(&self, url: &WebUrl) -> Result<Way<'_>, WebFault> {
        if is_excepted(&self.no_proxy, url.host()) {
            return Ok(Way::Direct);
        }
        let proxy = if url.is_secret() { &self.https } else { &self.http };
        Ok(match proxy.as_ref().map_err(Clone::clone)? {
            None => Way::Direct,
            Some(proxy) if !url.is_secret() && proxy.protocol() == ProxyProtocol::Http => {
                Way::Forwarded(proxy)
            }
            Some(proxy) => Way::Tunnel(proxy),
        })
    }
}

/// The proxy that a variable names; it may hold a password, which is never shown.
fn proxy(name: &str, value: &str) -> Result<Proxy, WebFault> {
    let usage = |words: &str| WebFault::new(Class::Usage, format!("{name} names {words}"));
    let url = if value.contains("://") { value.to_owned() } else { format!("http://{value}") };
    match Proxy::new(&url) {
        Ok(proxy) if matches!(proxy.protocol(), ProxyProtocol::Http | ProxyProtocol::Https) => Ok(proxy),
        Ok(_) => Err(usage("a SOCKS proxy, which is not supported; name an HTTP proxy, or unset it")),
        Err(_) => Err(usage("no proxy; write it as http://HOST:PORT, or unset it")),
    }
}

/// Whether a list of hosts has this one: names with all that is below them, addresses, and networks (`10.0.0.0/8`).
fn is_excepted(list: &str, host: &str) -> bool {
    let host = host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase();
    let address: Option<IpAddr> = host.parse().ok();
    let is_host = |word: &str| match (word, address) {
        ("*", _) => true,
        (word, Some(address)) => is_in_network(word.trim_matches(['[', ']']), address),
        (word, None) => {
            let name = word.trim_start_matches('*').trim_matches('.').to_ascii_lowercase();
            let above = host.strip_suffix(&name);
            !name.is_empty() && above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
        }
    };
    list.split([',', ' ', '\t']).filter(|word| !word.is_empty()).any(is_host)
}

fn is_in_network(word: &str, address: IpAddr) -> bool {
    let bits = |address: IpAddr| match address {
        IpAddr::V4(address) => (u128::from(address.to_bits()) << 96, 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    };
    let (network, prefix) =
        word.split_once('/').map_or((word, None), |(network, bits)| (network, Some(bits)));
    let Ok(network) = network.parse::<IpAddr>() else { return false };
    let ((one, all), (other, _)) = (bits(network), bits(address));
    let Ok(length) = prefix.map_or(Ok(all), str::parse::<u32>) else { return false };
    let differs = (one ^ other).leading_zeros() < length;
    network.is_ipv4() == address.is_ipv4() && length <= all && !differs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(set: &[(&str, &str)], url: &str) -> String {
        let find = |name: &str| set.iter().find(|(it, _)| *it == name).map(|(_, value)| (*value).to_owned());
        let url = WebUrl::parse(url.as_bytes()).expect("a URL");
        match Proxies::from_variables(&find).way(&url) {
            Ok(Way::Direct) => "direct".into(),
            Ok(Way::Forwarded(proxy)) => format!("forwarded by {}:{}", proxy.host(), proxy.port()),
            Ok(Way::Tunnel(proxy)) => format!("tunnel of {}:{}", proxy.host(), proxy.port()),
            Err(fault) => fault.words,
        }
    }

    #[test]
    fn each_scheme_has_its_own_variable() {
        let (plain, secret) = ("http://host/f", "https://host/f");
        for (set, of_http, of_https) in [
            (&[][..], "direct", "direct"),
            (&[("http_proxy", "http://a:1")], "forwarded by a:1", "direct"),
            (&[("HTTP_PROXY", "http://a:1")], "direct", "direct"),
            (&[("https_proxy", "http://a:1")], "direct", "tunnel of a:1"),
            (&[("HTTPS_PROXY", "http://a:1"), ("https_proxy", "b:2")], "direct", "tunnel of b:2"),
            (&[("all_proxy", "a:1/")], "forwarded by a:1", "tunnel of a:1"),
            (&[("ALL_PROXY", "a:1"), ("http_proxy", "b:2")], "forwarded by b:2", "tunnel of a:1"),
            (&[("ALL_PROXY", "a:1"), ("http_proxy", "")], "forwarded by a:1", "tunnel of a:1"),
            (&[("all_proxy", "https://user:word@a:1")], "tunnel of a:1", "tunnel of a:1"),
        ] {
            assert_eq!((way(set, plain), way(set, secret)), (of_http.into(), of_https.into()), "{set:?}");
        }
    }

    #[test]
    fn what_is_no_proxy_says_which_variable() {
        for (value, hint) in [
            ("socks5h://user:secret@a:1", "SOCKS"),
            ("socks4://a", "SOCKS"),
            ("ftp://user:secret@a", "no proxy"),
            ("http://a b", "no proxy"),
        ] {
            let words = way(&[("all_proxy", value)], "http://host/f");
            assert!(words.starts_with("all_proxy names") && words.contains(hint), "{words}");
            assert!(!words.contains("secret"), "{words}");
            assert_eq!(way(&[("all_proxy", value), ("no_proxy", "host")], "http://host/f"), "direct");
        }
    }

    #[test]
    fn hosts_without_a_proxy() {
        for (list, host, is) in [
            ("*", "host", true),
            ("host", "host", true),
            ("host", "HOST.", true),
            ("a.net, host", "host", true),
            ("a.net b.net", "b.net", true),
            ("net", "a.net", true),
            (".a.net", "a.net", true),
            (".a.net", "b.a.net", true),
            ("*.a.net", "b.a.net", true),
            ("a.net", "ba.net", false),
            ("a.net", "net", false),
            (",, .", "host", false),
            ("127.0.0.1", "127.0.0.1", true),
            ("10.0.0.0/8", "10.1.2.3", true),
            ("10.0.0.0/8", "11.1.2.3", false),
            ("10.0.0.0/99", "10.0.0.0", false),
            ("0.0.0.0/0", "9.9.9.9", true),
            ("0.0.0.0/0", "[::1]", false),
            ("::1", "[::1]", true),
            ("[::1]", "[::1]", true),
            ("fd00::/8", "[fd12::1]", true),
            ("0.0.1", "127.0.0.1", false),
        ] {
            assert_eq!(is_excepted(list, host), is, "{list} {host}");
        }
    }
}
