//! The proxies of the environment: each scheme has its own, and what curl copies over it is copied.

use crate::server::{Answer, WebServer};
use crate::support::{Home, Outcome, expect, has_content, noise};

/// A proxy that has an answer to URLs, and makes no connections, as most make them to port 443 alone.
fn proxy(content: &[u8]) -> WebServer {
    let content = content.to_vec();
    WebServer::new(move |request, _| match request.method.as_str() {
        "GET" => Answer::part(request, &content).with("ETag", "\"one\""),
        _ => Answer::status(403),
    })
}

fn copy(home: &Home, variables: &[(&str, &str)], url: &str) -> Outcome {
    let mut command = home.command(&["copy", "--retry-for=1s", url, "to"]);
    for name in ["http_proxy", "https_proxy", "all_proxy", "no_proxy"] {
        command.env_remove(name).env_remove(name.to_uppercase());
    }
    command.envs(variables.iter().copied());
    crate::support::outcome(command, b"")
}

#[test]
fn a_url_of_http_is_asked_for_as_a_whole() {
    let content = noise(3 << 20, 4);
    for variable in ["http_proxy", "all_proxy", "ALL_PROXY"] {
        let (home, proxy) = (Home::new(), proxy(&content));
        let value = format!("http://me:it%20is@127.0.0.1:{}", proxy.port());
        expect(&copy(&home, &[(variable, &value)], "http://pump.invalid:8080/x?y"), 0, &[], variable);
        has_content(&home.path("to"), &content, variable);
        for request in proxy.asked() {
            assert_eq!(request.path, "http://pump.invalid:8080/x?y", "{request:?}");
            assert_eq!(request.header("host"), Some("pump.invalid:8080"), "{request:?}");
            assert_eq!(request.header("proxy-authorization"), Some("Basic bWU6aXQgaXM="), "{request:?}");
        }
    }
}

#[test]
fn a_scheme_does_not_use_the_proxy_of_another() {
    let content = noise(10_000, 4);
    let (home, server) = (Home::new(), proxy(&content));
    let (url, nowhere) = (server.url("x"), "http://127.0.0.1:1");
    for variables in [
        &[("https_proxy", nowhere)][..],
        &[("HTTPS_PROXY", nowhere)],
        &[("HTTP_PROXY", nowhere)],
        &[("http_proxy", nowhere), ("no_proxy", "127.0.0.0/8")],
        &[("all_proxy", "socks5h://127.0.0.1:1"), ("NO_PROXY", "*")],
    ] {
        expect(&copy(&home, variables, &url), 0, &[], &format!("{variables:?}"));
        has_content(&home.path("to"), &content, &format!("{variables:?}"));
    }
    assert!(server.asked().iter().all(|request| request.path == "/x"), "{:?}", server.asked());
    let run = copy(&home, &[("all_proxy", "socks5h://127.0.0.1:1")], &url);
    expect(&run, 2, &["all_proxy names a SOCKS proxy"], "SOCKS");
}

#[test]
fn a_proxy_makes_the_connection_for_https() {
    let home = Home::new();
    for variable in ["https_proxy", "HTTPS_PROXY", "all_proxy"] {
        let proxy = proxy(b"");
        let value = format!("127.0.0.1:{}", proxy.port());
        let run = copy(
            &home,
            &[(variable, &value), ("http_proxy", "http://127.0.0.1:1")],
            "https://pump.invalid/x",
        );
        assert_ne!(run.status, 0, "{run:?}");
        let asked = proxy.asked();
        let is_tunnel = |path: &str, method: &str| path == "pump.invalid:443" && method == "CONNECT";
        assert!(asked.iter().any(|it| is_tunnel(&it.path, &it.method)), "{variable}: {asked:?}");
    }
}
