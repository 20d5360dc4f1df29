//! Requests to one server: TLS, proxies, redirects, and who is told the login.
//!
//! Must not know: what is read of an answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use datapump_core::problem::Class;
use rustls::crypto::aws_lc_rs::default_provider;
use ureq::config::RedirectAuthHeaders;
use ureq::http::Response;
use ureq::http::header::{ACCEPT_ENCODING, AUTHORIZATION, RANGE};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Body, BodyReader, Error, ResponseExt};

use super::answer::{Identity, WebAnswer, WebPart, read};
use super::login;
use super::url::WebUrl;
use super::{BODIES_MAX, Failure, SLICE, WebFault};

/// To connect to one of a host's addresses.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// Silence after which the server is taken for dead, as another host of a session is.
const SILENCE_MAX: Duration = Duration::from_secs(30);
const REDIRECTS_MAX: u32 = 10;
/// Bytes that are taken out of the socket at a time.
const INPUT_BYTES: usize = 256 << 10;

/// A client of the server that has the file.
#[derive(Debug)]
pub(super) struct Client {
    agent: Agent,
    /// As the user named it.
    first: WebUrl,
    /// Where the redirects led.
    last: WebUrl,
    authorization: Option<String>,
    /// Its watch ends with it.
    _alive: Arc<()>,
}

type CamePart = (WebPart, BodyReader<'static>);

impl Client {
    pub(super) fn new(url: &WebUrl, stop: &Arc<AtomicBool>) -> Client {
        let agent = agent();
        let authorization = login::of(url.host());
        let alive = Arc::new(());
        cut_on_stop(&agent, &alive, stop);
        Client { agent, first: url.clone(), last: url.clone(), authorization, _alive: alive }
    }

    pub(super) fn url(&self) -> &WebUrl {
        &self.last
    }

    pub(super) fn first_url(&self) -> &WebUrl {
        &self.first
    }

    /// The first part of the file, and where it is; the whole, where parts of it could not be told from another's.
    pub(super) fn open(&mut self, bytes: u64) -> Result<CamePart, Failure> {
        // A server that cannot be reached at all is reported at once.
        let follow = |url, range| self.follow(url, range).map_err(Failure::for_good);
        let response = follow(&self.first, Some((0, bytes)))?;
        let last = WebUrl::of(response.get_uri().clone());
        let wants_login =
            response.status() == 401 && last.is_at_same_server(&self.first) && last != self.first;
        // The client that follows a redirect leaves the login out; the host that was named may still have it.
        let response = if wants_login { follow(&last, Some((0, bytes)))? } else { response };
        self.last = last;
        let (part, body) = came(response, 0, None)?;
        let is_whole = part.end.is_some() && part.end == part.identity.bytes;
        // Of an empty file there are no parts.
        let has_parts = part.has_ranges || part.identity.bytes == Some(0);
        match has_parts && part.identity.is_known() {
            true => Ok((WebPart { has_ranges: true, ..part }, body)),
            false if is_whole || !part.has_ranges && part.end == part.identity.bytes => {
                Ok((WebPart { has_ranges: false, ..part }, body))
            }
            false => {
                let (part, body) = came(self.follow(&self.last, None).map_err(Failure::for_good)?, 0, None)?;
                Ok((WebPart { has_ranges: false, ..part }, body))
            }
        }
    }

    /// A part of the file, if it is the one that is known.
    pub(super) fn part(&self, at: u64, end: u64, known: &Identity) -> Result<CamePart, Failure> {
        came(self.follow(&self.last, Some((at, end)))?, at, Some(known))
    }

    /// Whether it is still the one that is known.
    pub(super) fn look(&self, known: &Identity) -> Result<(), Failure> {
        if known.bytes == Some(0) {
            return Ok(());
        }
        self.part(0, 1, known).map(drop)
    }

    fn follow(&self, url: &WebUrl, range: Option<(u64, u64)>) -> Result<Response<Body>, Failure> {
        // Bytes as they lie there: what a server compresses on the way has no offsets.
        let mut request = self.agent.get(url.uri()).header(ACCEPT_ENCODING, "identity");
        if let Some((at, end)) = range {
            request = request.header(RANGE, format!("bytes={at}-{}", end - 1));
        }
        if let Some(value) = self.authorization.as_ref().filter(|_| url.is_at_same_server(&self.first)) {
            request = request.header(AUTHORIZATION, value);
        }
        let response = request.call().map_err(|error| failure(url, error))?;
        let visited = response.get_redirect_history().unwrap_or_default();
        match url.is_secret() && visited.iter().any(|uri| uri.scheme_str() != Some("https")) {
            true => {
                let words = "the server leads from https to http, where anybody may change it; name that URL yourself";
                Err(Failure::Final(WebFault::new(Class::Refused, words)))
            }
            false => Ok(response),
        }
    }
}

fn came(response: Response<Body>, at: u64, known: Option<&Identity>) -> Result<CamePart, Failure> {
    let answered = read(response.status().as_u16(), response.headers(), at, known)?;
    let part = match answered {
        WebAnswer::Part(part) => part,
        WebAnswer::Empty(identity) => WebPart { identity, at: 0, end: Some(0), has_ranges: true },
    };
    Ok((part, response.into_body().into_reader()))
}

fn agent() -> Agent {
    // What the system trusts, or SSL_CERT_FILE and SSL_CERT_DIR name.
    let roots = rustls_native_certs::load_native_certs().certs;
    let roots: Vec<_> = roots.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&roots))
        .unversioned_rustls_crypto_provider(Arc::new(default_provider()))
        .build();
    Agent::config_builder()
        .tls_config(tls)
        .user_agent(concat!("datapump/", env!("CARGO_PKG_VERSION")))
        .http_status_as_error(false)
        .max_redirects(REDIRECTS_MAX)
        .save_redirect_history(true)
        .redirect_auth_headers(RedirectAuthHeaders::Never)
        .timeout_resolve(Some(SILENCE_MAX))
        .timeout_connect(Some(CONNECT_MAX))
        .timeout_per_read(Some(SILENCE_MAX))
        .timeout_per_write(Some(SILENCE_MAX))
        .input_buffer_size(INPUT_BYTES)
        .max_idle_connections(BODIES_MAX)
        .max_idle_connections_per_host(BODIES_MAX)
        .build()
        .into()
}

/// Cuts the connections when the run is to stop: reads that wait for a silent server end then.
fn cut_on_stop(agent: &Agent, alive: &Arc<()>, stop: &Arc<AtomicBool>) {
    let (agent, alive, stop) = (agent.clone(), Arc::downgrade(alive), Arc::clone(stop));
    let watch = move || {
        while alive.strong_count() > 0 {
            if stop.load(Ordering::Relaxed) {
                return agent.shutdown();
            }
            std::thread::sleep(SLICE);
        }
    };
    // Without it waits end with the server's silence.
    let _ = std::thread::Builder::new().name("web-stop".into()).spawn(watch);
}

/// What the client says of a request that got no answer.
fn failure(url: &WebUrl, error: Error) -> Failure {
    let host = url.host();
    let last = |class, words: String| Failure::Final(WebFault::new(class, words));
    let tls = |error: &rustls::Error| {
        last(
            Class::Refused,
            format!("'{host}' is not who it should be, or speaks no TLS that is known here: {error}"),
        )
    };
    match error {
        Error::Rustls(error) => tls(&error),
        Error::Io(error) => match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            Some(error) => tls(error),
            None => Failure::Passing(WebFault::new(Class::Lost, format!("'{host}': {error}")), None),
        },
        Error::HostNotFound => last(Class::Lost, format!("there is no host '{host}'")),
        Error::TooManyRedirects => {
            last(Class::Io, format!("more than {REDIRECTS_MAX} redirects, one after the other"))
        }
        Error::BadUri(_) | Error::Http(_) | Error::InvalidProxyUrl | Error::RequireHttpsOnly(_) => {
            last(Class::Usage, error.to_string())
        }
        error => Failure::Passing(WebFault::new(Class::Lost, format!("'{host}': {error}")), None),
    }
}
