//! The far end of ssh: a server for one session of the user who started it, and nobody else.
//!
//! It says on its output how it is reached: the address by which the user's ssh reached this host, and a ticket. A
//! client that cannot call there opens streams on its input. When its input ends nobody is going to call any more.
//!
//! Must not know: command lines, what sessions do.

use std::fs::File;
use std::io::Write;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use datapump_core::wire::opening::Opening;
use datapump_engine::Socket;
use datapump_transport::SshMux;

use crate::count_ahead::served_root::ServedRoot;
use crate::net::server::Server;
use crate::net::server::serve_options::ServeOptions;
use crate::place::Place;
use crate::problem::{Class, Operation, Problem};
use crate::report::version;

/// How long last words may take to get out.
const END_MAX: Duration = Duration::from_secs(2);
/// Connections of a session that may be asked for.
const CONNECTIONS_MAX: u32 = 256;

impl Server {
    /// A server for its own user, reached over ssh, whose relative places begin in `home`. Listens on `address`, if it
    /// can.
    ///
    /// Errors: `home` cannot be opened.
    pub fn for_own_user(
        home: PathBuf,
        address: Option<IpAddr>,
        stop: Arc<AtomicBool>,
    ) -> Result<Server, Problem> {
        // Without a port of its own it is reached over ssh.
        let listener = address.and_then(|address| {
            let listener = TcpListener::bind(SocketAddr::new(address, 0)).ok()?;
            listener.set_nonblocking(true).ok().map(|()| listener)
        });
        let options = ServeOptions {
            once: true,
            connections_max: CONNECTIONS_MAX,
            // The user knows what this host can bear.
            memory_bytes: u64::MAX / 2,
            ..ServeOptions::for_place(Place::Path(home.clone()))
        };
        Server::with_root(options, ServedRoot::User(home), listener, stop)
    }

    /// Writes to `output` how this server is reached, and serves until the session is over, or `input` ends without one.
    ///
    /// Errors: `output` cannot be written.
    pub fn serve_over_pipes(self, input: File, mut output: File) -> Result<(), Problem> {
        let address = Some(self.address()).filter(|address| address.port() != 0);
        let opening =
            Opening { ticket: self.ticket.word(), address: address.map(|address| address.to_string()) };
        output.write_all(opening.line(&version()).as_bytes()).map_err(|error| {
            Problem::of(Class::Io, Operation::Connect, format!("write to standard output: {error}"))
        })?;
        let (ssh_mux, server) = (SshMux::new(output), &self);
        std::thread::scope(|scope| {
            let reading = Arc::clone(&ssh_mux);
            scope.spawn(move || {
                let mut accept = |stream| server.carry(Socket::Unix(stream));
                let _ = reading.receive(&[], input, Some(&mut accept));
                server.state.is_closing.store(true, Ordering::SeqCst);
                server.state.wake();
            });
            server.accept(scope, &|| {});
            ssh_mux.finish(END_MAX);
        });
        Ok(())
    }
}
