//! Requests to one server: TLS, redirects, and which server gets the login.
//!
//! Must not know: what is read of an answer.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use datapump_core::problem::Class;
use rustls::crypto::aws_lc_rs::default_provider;
use ureq::http::header::{ACCEPT_ENCODING, AUTHORIZATION, IF_RANGE, LOCATION, RANGE};
use ureq::http::{HeaderValue, Response};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::unversioned::transport::{ConnectProxyConnector, Connector, RustlsConnector};
use ureq::{Agent, Body, BodyReader, Error, Proxy};

use super::answer::{AnswerHead, Asked, WebPart, read};
use super::connection::{AddressesOf, CONNECT_MAX, Forwarder, SideBySide, WholeEnds};
use super::identity::Identity;
use super::login;
use super::proxies::{Proxies, Way};
use super::url::WebUrl;
use super::{BODIES_MAX, Failure, WebFault};

/// As curl follows.
const REDIRECTS_MAX: u32 = 50;
/// Bytes that are taken out of the socket at a time.
const INPUT_BYTES: usize = 256 << 10;
/// Most bytes of a head. The buffer behind an informational answer (1xx) counts as part of the next head.
const HEAD_BYTES_MAX: usize = 2 * INPUT_BYTES;

/// A client of the server that has the file.
#[derive(Debug)]
pub(super) struct Client {
    agent: Agent,
    /// Asks a proxy.
    forwarding: Option<Agent>,
    proxies: Proxies,
    /// As the user named it.
    first: WebUrl,
    /// Where the redirects led last.
    last: Mutex<WebUrl>,
    authorization: Option<String>,
}

/// A part whose body is on its way.
pub(super) struct CamePart {
    pub(super) part: WebPart,
    pub(super) body: BodyReader<'static>,
}

impl Client {
    /// `silence`: after that the server is taken for dead, as another host of a session is.
    pub(super) fn new(url: &WebUrl, silence: Duration, stop: &Arc<AtomicBool>) -> Client {
        let authorization = login::of(url.host());
        let proxies = Proxies::of_environment();
        Client {
            agent: agent(None, url, silence, stop),
            forwarding: proxies.forwarder().map(|proxy| agent(Some(proxy), url, silence, stop)),
            proxies,
            first: url.clone(),
            last: Mutex::new(url.clone()),
            authorization,
        }
    }

    pub(super) fn url(&self) -> WebUrl {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn first_url(&self) -> &WebUrl {
        &self.first
    }

    /// The first part of the file and, where there are more, the next one, both of one state; the whole, where parts of
    /// one state could not be told from those of another.
    pub(super) fn open(&self, bytes: u64) -> Result<Vec<CamePart>, Failure> {
        let Some(first) = self.get(Some((0, bytes)), None)? else { return self.whole() };
        if first.part.is_whole() {
            return Ok(vec![first]);
        }
        let (Some(end), Some(all), Some(_)) =
            (first.part.end, first.part.identity.bytes, first.part.identity.validator())
        else {
            return self.whole();
        };
        match self.part(end, all.min((end / bytes + 1) * bytes), &first.part.identity) {
            Ok(second) => Ok(vec![first, second]),
            // Several servers that give one file different names, or one that changes by the moment.
            Err(Failure::Another(..)) => self.whole(),
            // Whatever it was, it is met again when that part is needed.
            Err(Failure::Final(_) | Failure::Refused(_) | Failure::Passing(..)) => Ok(vec![first]),
        }
    }

    fn whole(&self) -> Result<Vec<CamePart>, Failure> {
        let came = self.get(None, None)?.expect("a part was not requested");
        let part = WebPart { has_ranges: false, ..came.part };
        Ok(vec![CamePart { part, ..came }])
    }

    /// A part of the file, if it is the one that is known.
    pub(super) fn part(&self, at: u64, end: u64, known: &Identity) -> Result<CamePart, Failure> {
        self.get(Some((at, end)), Some(known)).map(|part| part.expect("it is known"))
    }

    /// Whether it is still the one that is known.
    pub(super) fn look(&self, known: &Identity) -> Result<(), Failure> {
        if known.bytes == Some(0) {
            return Ok(());
        }
        self.part(0, 1, known).map(drop)
    }

    /// A part from where the redirects led last. They may lead elsewhere by now, as an address that is signed holds for
    /// a while: whatever is wrong there, the first address is asked again.
    fn get(&self, range: Option<(u64, u64)>, known: Option<&Identity>) -> Result<Option<CamePart>, Failure> {
        let last = self.url();
        if last != self.first {
            let came = self.get_at(&last, range, known);
            if came.is_err() {
                self.set_last(&self.first);
            }
            match came {
                Err(Failure::Final(_) | Failure::Refused(_)) => {}
                came => return came.map(|(came, _)| came),
            }
        }
        let (came, led_to) = self.get_at(&self.first, range, known)?;
        self.set_last(&led_to);
        Ok(came)
    }

    fn set_last(&self, url: &WebUrl) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = url.clone();
    }

    /// A part from an address, and where its redirects led.
    fn get_at(
        &self,
        url: &WebUrl,
        range: Option<(u64, u64)>,
        known: Option<&Identity>,
    ) -> Result<(Option<CamePart>, WebUrl), Failure> {
        let mut at = url.clone();
        for _ in 0..=REDIRECTS_MAX {
            // A server that cannot be reached at all is reported at once.
            let response = self.ask(&at, range, known);
            let response = if known.is_none() { response.map_err(Failure::for_good) } else { response }?;
            if let Some(next) = redirect(&at, &response)? {
                at = next;
                continue;
            }
            let (status, version) = (response.status().as_u16(), response.version());
            let head = AnswerHead { status, version, headers: response.headers() };
            let part = read(head, Asked { at: range.map(|(at, _)| at), known })?;
            let came = part.map(|part| CamePart { part, body: response.into_body().into_reader() });
            return Ok((came, at));
        }
        let words = format!("more than {REDIRECTS_MAX} redirects, one after the other");
        Err(Failure::Final(WebFault::new(Class::Io, words)))
    }

    /// The login is for the server that was named alone.
    fn login_for(&self, url: &WebUrl) -> Option<&String> {
        self.authorization.as_ref().filter(|_| url.is_at_same_server(&self.first))
    }

    /// What one server answers; redirects are not followed.
    fn ask(
        &self,
        url: &WebUrl,
        range: Option<(u64, u64)>,
        known: Option<&Identity>,
    ) -> Result<Response<Body>, Failure> {
        let (agent, tunnel) = match (self.proxies.way(url).map_err(Failure::Final)?, &self.forwarding) {
            (Way::Forwarded(_), Some(forwarding)) => (forwarding, None),
            (Way::Tunnel(proxy) | Way::Forwarded(proxy), _) => (&self.agent, Some(proxy.clone())),
            (Way::Direct, _) => (&self.agent, None),
        };
        let mut request = agent.get(url.uri()).config().proxy(tunnel).build();
        // Bytes as they lie there: what a server compresses on the way has no offsets.
        request = request.header(ACCEPT_ENCODING, "identity");
        if let Some((at, end)) = range {
            request = request.header(RANGE, format!("bytes={at}-{}", end - 1));
        }
        if let Some(validator) = known.and_then(Identity::validator).and_then(value) {
            request = request.header(IF_RANGE, validator);
        }
        if let Some(value) = self.login_for(url) {
            request = request.header(AUTHORIZATION, value);
        }
        request.call().map_err(|error| failure(url, error))
    }
}

/// Where an answer leads, if it does.
fn redirect(at: &WebUrl, response: &Response<Body>) -> Result<Option<WebUrl>, Failure> {
    let leads = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let Some(location) = response.headers().get(LOCATION).filter(|_| leads) else { return Ok(None) };
    let refused = |words: &str| Failure::Final(WebFault::new(Class::Refused, words));
    match at.joined(location.as_bytes()) {
        Ok(next) if at.is_secret() && !next.is_secret() => Err(refused(
            "the server leads from https to http, where anybody may change it; name that URL yourself",
        )),
        Ok(next) => Ok(Some(next)),
        Err(error) => {
            let words = format!("the server leads to what is not followed: {}", error.0);
            Err(Failure::Final(WebFault::new(Class::Io, words)))
        }
    }
}

/// A value that came with an answer, as it came: its letters are those of Latin-1.
fn value(told: &str) -> Option<HeaderValue> {
    let bytes: Option<Vec<u8>> = told.chars().map(|letter| u8::try_from(letter).ok()).collect();
    HeaderValue::from_bytes(&bytes?).ok()
}

/// `forwarder`: the proxy that is asked instead of the server.
fn agent(forwarder: Option<&Proxy>, url: &WebUrl, silence: Duration, stop: &Arc<AtomicBool>) -> Agent {
    // What the system trusts, or SSL_CERT_FILE and SSL_CERT_DIR name.
    let roots = rustls_native_certs::load_native_certs().certs;
    let roots: Vec<_> = roots.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&roots))
        .unversioned_rustls_crypto_provider(Arc::new(default_provider()))
        .build();
    let config = Agent::config_builder()
        .tls_config(tls)
        .user_agent(concat!("datapump/", env!("CARGO_PKG_VERSION")))
        .proxy(None)
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .timeout_resolve(Some(silence))
        .timeout_connect(Some(silence.min(CONNECT_MAX) + silence))
        .timeout_recv_response(Some(silence))
        .timeout_per_read(Some(silence))
        .timeout_per_write(Some(silence))
        .input_buffer_size(INPUT_BYTES)
        .max_response_header_size(HEAD_BYTES_MAX)
        .max_idle_connections(BODIES_MAX)
        .max_idle_connections_per_host(BODIES_MAX)
        .build();
    let (forwarder, stop) = (forwarder.map(Forwarder::to_proxy), Arc::clone(stop));
    let zoned = url.zone().map(|(address, zone)| (address.to_owned(), zone.to_owned()));
    let addresses = AddressesOf { silence, forwarder: forwarder.clone(), zoned, stop: Arc::clone(&stop) };
    let connector =
        ().chain(ConnectProxyConnector::default())
            .chain(SideBySide { silence, forwarder, stop })
            .chain(RustlsConnector::default())
            .chain(WholeEnds);
    Agent::with_parts(config, connector, addresses)
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
        Error::Http(_) | Error::InvalidProxyUrl | Error::RequireHttpsOnly(_) => {
            last(Class::Usage, error.to_string())
        }
        // It would say the same again; URLs were read before.
        Error::BadUri(_) | Error::Protocol(_) | Error::LargeResponseHeader(..) => {
            last(Class::Io, format!("the answer of '{host}' is not valid HTTP: {error}"))
        }
        error => Failure::Passing(WebFault::new(Class::Lost, format!("'{host}': {error}")), None),
    }
}
