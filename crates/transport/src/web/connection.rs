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

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use ureq::Error;
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, Either, LazyBuffers, NextTimeout, Transport,
};

use crate::cancel::CancelToken;
use crate::dial::connect;
use crate::timed::POLL_INTERVAL;
use crate::web::url::{NO_PORT, has_true_port};

/// To connect to a host, whichever of its addresses.
const CONNECT_MAX: Duration = Duration::from_secs(10);

/// Lets none be made to another port than a URL says, be it one that a redirect leads to, by a proxy or without.
#[derive(Debug)]
pub(super) struct TruePorts;

impl<In: Transport> Connector<In> for TruePorts {
    type Out = In;

    fn connect(&self, details: &ConnectionDetails<'_>, chained: Option<In>) -> Result<Option<In>, Error> {
        match has_true_port(details.uri) {
            true => Ok(chained),
            false => Err(Error::BadUri(format!("'{}' {NO_PORT}", details.uri))),
        }
    }
}

/// Makes them.
#[derive(Debug)]
pub(super) struct SideBySide {
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
        let cancel = CancelToken::default().heeding(&self.stop).within(CONNECT_MAX);
        let stream = connect(&details.addrs, &cancel, &|| ())
            .map_err(|fault| io::Error::other(fault.words().to_string()))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(POLL_INTERVAL))?;
        stream.set_write_timeout(Some(POLL_INTERVAL))?;
        let buffers =
            LazyBuffers::new(details.config.input_buffer_size(), details.config.output_buffer_size());
        Ok(Some(Either::B(HttpSocket { stream, buffers, stop: Arc::clone(&self.stop) })))
    }
}

/// One that was made.
pub(super) struct HttpSocket {
    stream: TcpStream,
    buffers: LazyBuffers,
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
        let HttpSocket { stream, buffers, stop } = self;
        let mut output = &buffers.output()[..amount];
        while !output.is_empty() {
            let sent = HttpSocket::until(stop, timeout.for_write(), || (&*stream).write(output))?;
            output = &output[sent..];
        }
        Ok(())
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let HttpSocket { stream, buffers, stop } = self;
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
