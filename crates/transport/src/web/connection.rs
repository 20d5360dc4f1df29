//! The connections below requests: made to the first address that answers, cut when the run is to stop, and never taken
//! for a body's end where they broke.
//!
//! Must not know: requests and answers.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, Either, LazyBuffers, NextTimeout, Transport,
};
use ureq::{Error, Proxy};

use crate::cancel::CancelToken;
use crate::dial::{connect, look_up};
use crate::fault::NetFault;
use crate::timed::POLL_INTERVAL;

/// To connect to a host, whichever of its addresses.
pub(super) const CONNECT_MAX: Duration = Duration::from_secs(10);
/// Addresses of one name.
const ADDRESSES_MAX: usize = 16;

/// A proxy that is asked for whole URLs instead of their servers.
#[derive(Clone)]
pub(super) struct Forwarder {
    /// `host:port`.
    address: String,
    /// The line of the head that tells who asks, if the proxy has a login.
    login: String,
}

impl Forwarder {
    pub(super) fn to_proxy(proxy: &Proxy) -> Forwarder {
        let login = match (proxy.username(), proxy.password()) {
            (None, None) => String::new(),
            (user, word) => {
                let login = format!("{}:{}", user.unwrap_or_default(), word.unwrap_or_default());
                format!("Proxy-Authorization: Basic {}\r\n", STANDARD.encode(login))
            }
        };
        Forwarder { address: format!("{}:{}", proxy.host(), proxy.port()), login }
    }

    /// The head of a request for a path of a server as one for its URL.
    fn forwarded(&self, origin: &str, head: &[u8]) -> Option<Vec<u8>> {
        let rest = head.strip_prefix(b"GET ")?;
        let line = rest.windows(2).position(|end| end == b"\r\n")? + 2;
        let parts: [&[u8]; 5] =
            [b"GET ", origin.as_bytes(), &rest[..line], self.login.as_bytes(), &rest[line..]];
        Some(parts.concat())
    }
}

impl fmt::Debug for Forwarder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.address.fmt(out)
    }
}

/// Looks names up, in waits that a stop ends.
#[derive(Debug)]
pub(super) struct AddressesOf {
    pub(super) silence: Duration,
    pub(super) forwarder: Option<Forwarder>,
    /// The address of the server that was named, with its zone, which is in no request.
    pub(super) zoned: Option<(String, String)>,
    pub(super) stop: Arc<AtomicBool>,
}

impl AddressesOf {
    fn server(&self, uri: &Uri) -> Option<String> {
        let server = DefaultResolver::host_and_port(uri.scheme()?, uri.authority()?)?;
        let of_zone = |(address, zone): &(String, String)| {
            let port = server.strip_prefix(&format!("[{address}]"))?;
            Some(format!("[{address}%{zone}]{port}"))
        };
        self.zoned.as_ref().and_then(of_zone).or(Some(server))
    }
}

impl Resolver for AddressesOf {
    fn resolve(
        &self,
        uri: &Uri,
        _config: &Config,
        _timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        let host = self.forwarder.as_ref().map(|forwarder| forwarder.address.clone());
        let host = host.or_else(|| self.server(uri)).ok_or(Error::HostNotFound)?;
        let cancel = CancelToken::default().heeding(&self.stop).within(self.silence);
        let found = look_up(&host, &cancel).map_err(io_error)?;
        let mut addresses = self.empty();
        found.iter().take(ADDRESSES_MAX).for_each(|address| addresses.push(*address));
        if found.is_empty() { Err(Error::HostNotFound) } else { Ok(addresses) }
    }
}

fn io_error(fault: NetFault) -> io::Error {
    io::Error::other(fault.words().to_string())
}

/// Makes them.
#[derive(Debug)]
pub(super) struct SideBySide {
    pub(super) silence: Duration,
    pub(super) forwarder: Option<Forwarder>,
    pub(super) stop: Arc<AtomicBool>,
}

impl<In: Transport> Connector<In> for SideBySide {
    type Out = Either<In, HttpSocket>;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> Result<Option<Self::Out>, Error> {
        // A proxy has made one.
        if let Some(made) = chained {
            return Ok(Some(Either::A(made)));
        }
        let cancel = CancelToken::default().heeding(&self.stop).within(self.silence.min(CONNECT_MAX));
        let stream = connect(&details.addrs, &cancel, &|| ()).map_err(io_error)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(POLL_INTERVAL))?;
        stream.set_write_timeout(Some(POLL_INTERVAL))?;
        let buffers =
            LazyBuffers::new(details.config.input_buffer_size(), details.config.output_buffer_size());
        let origin =
            || format!("http://{}", details.uri.authority().map_or("", |authority| authority.as_str()));
        let forwarded = self.forwarder.clone().map(|forwarder| (forwarder, origin()));
        Ok(Some(Either::B(HttpSocket { stream, buffers, forwarded, stop: Arc::clone(&self.stop) })))
    }
}

/// One that was made.
pub(super) struct HttpSocket {
    stream: TcpStream,
    buffers: LazyBuffers,
    /// The proxy at its other end, and the server that is meant.
    forwarded: Option<(Forwarder, String)>,
    stop: Arc<AtomicBool>,
}

impl fmt::Debug for HttpSocket {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stream.fmt(out)
    }
}

impl HttpSocket {
    /// Calls until something moves, the run is to stop, or it took too long.
    fn until(
        stop: &AtomicBool,
        timeout: NextTimeout,
        mut call: impl FnMut() -> io::Result<usize>,
    ) -> Result<usize, Error> {
        let (begun, patience) = (Instant::now(), timeout.not_zero());
        loop {
            match call() {
                Err(error) if is_pause(&error) => {}
                done => return Ok(done?),
            }
            if stop.load(Ordering::Relaxed) {
                return Err(io::Error::other("interrupted").into());
            }
            if patience.is_some_and(|patience| begun.elapsed() >= *patience) {
                return Err(Error::Timeout(timeout.reason));
            }
        }
    }
}

fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

impl Transport for HttpSocket {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        let HttpSocket { stream, buffers, forwarded, stop } = self;
        let output = &buffers.output()[..amount];
        let forwarded =
            forwarded.as_ref().and_then(|(forwarder, origin)| forwarder.forwarded(origin, output));
        let mut output = forwarded.as_deref().unwrap_or(output);
        while !output.is_empty() {
            let sent = HttpSocket::until(stop, timeout.for_write(), || (&*stream).write(output))?;
            output = &output[sent..];
        }
        Ok(())
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let HttpSocket { stream, buffers, stop, .. } = self;
        let input = buffers.input_append_buf();
        let came = HttpSocket::until(stop, timeout.for_read(), || (&*stream).read(input))?;
        buffers.input_appended(came);
        Ok(came > 0)
    }

    /// Of one that is at rest nothing is to be read, not even its end.
    fn is_open(&mut self) -> bool {
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        recv(&self.stream, &mut [0; 1][..], flags).map(drop) == Err(Errno::AGAIN)
    }
}

/// Takes a connection that broke for what it is. A body without a length ends where its connection is closed, and what
/// reads it takes a reset, or TLS that was cut (RFC 9112 §9.8), for that end.
#[derive(Debug)]
pub(super) struct WholeEnds;

impl<In: Transport> Connector<In> for WholeEnds {
    type Out = WholeEnd<In>;

    fn connect(
        &self,
        _details: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> Result<Option<Self::Out>, Error> {
        Ok(chained.map(WholeEnd))
    }
}

/// One whose end is one.
#[derive(Debug)]
pub(super) struct WholeEnd<Inner>(Inner);

impl<Inner: Transport> Transport for WholeEnd<Inner> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.0.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.0.transmit_output(amount, timeout)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        use ErrorKind::{ConnectionAborted, ConnectionReset, UnexpectedEof};
        match self.0.await_input(timeout) {
            Err(Error::Io(error))
                if matches!(error.kind(), ConnectionAborted | ConnectionReset | UnexpectedEof) =>
            {
                Err(io::Error::other(error.to_string()).into())
            }
            done => done,
        }
    }

    fn is_open(&mut self) -> bool {
        self.0.is_open()
    }

    fn is_tls(&self) -> bool {
        self.0.is_tls()
    }
}
