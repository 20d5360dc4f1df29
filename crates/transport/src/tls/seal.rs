//! Records: what goes over a connection is sealed by TLS 1.3 and opened again, in memory.
//!
//! The library's records, handshake and keys (rustls); here only its buffers. Both sides show a key, and each has its
//! own idea of which key is right. The lab may leave the seal out (`Seal::Open`), which is why this is one type.
//!
//! Must not know: sockets, frames, what a key allows.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{AlwaysResolvesClientRawPublicKeys, UnbufferedClientConnection};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{AlwaysResolvesServerRawPublicKeys, UnbufferedServerConnection};
use rustls::unbuffered::{ConnectionState, EncodeError, UnbufferedStatus};
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, ServerConfig,
    SignatureScheme,
};

use super::keys::{PublicKey, Seed, public_of};
use super::outgoing::Outgoing;
use super::ticket::Ticket;
use crate::fault::NetFault;

/// Plain bytes that are sealed at a time: 16 records, which stay in the CPU's cache until they are sent.
const SEALED_BYTES: usize = 256 << 10;
/// A record's head, content type and tag: RFC 8446, 5.2. Of the longest record, 16 KiB.
const RECORD_BYTES: usize = 16 << 10;
const RECORD_OVERHEAD_BYTES: usize = 22;

/// One side of a sealed connection.
pub enum Seal {
    /// The side that called.
    Caller(Box<UnbufferedClientConnection>),
    /// The side that was called.
    Called(Box<UnbufferedServerConnection>),
    /// Nothing is sealed: tests, and the lab, which measures what sealing costs.
    Open,
    /// What came could not be opened. The library must not be asked again.
    Broken,
}

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// More bytes of the other side are needed.
    Receive,
    /// What stands in `outgoing` is to be sent.
    Send,
    /// The handshake is done, and all bytes that came are opened.
    Ready,
    /// The other side has closed the connection properly.
    Closed,
}

impl Seal {
    /// The side that holds a ticket.
    pub fn caller(ticket: &Ticket) -> Result<Seal, NetFault> {
        let verifier = Arc::new(Pinned { maker: ticket.maker, provider: provider() });
        let resolver = AlwaysResolvesClientRawPublicKeys::new(ticket.holder.certified());
        let config = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])
            .expect("TLS 1.3 is known")
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_client_cert_resolver(Arc::new(resolver));
        // Keys have no names; this one is never looked at.
        let name = ServerName::try_from("pump").expect("a name");
        let connection = UnbufferedClientConnection::new(Arc::new(config), name).map_err(broken)?;
        Ok(Seal::Caller(Box::new(connection)))
    }

    /// The side that made tickets.
    pub fn called(config: &CalledConfig) -> Result<Seal, NetFault> {
        let connection = UnbufferedServerConnection::new(Arc::clone(config)).map_err(broken)?;
        Ok(Seal::Called(Box::new(connection)))
    }

    /// The key that the other side has shown; known when the handshake is done.
    pub(crate) fn peer(&self) -> Option<PublicKey> {
        let shown = match self {
            Seal::Caller(connection) => connection.peer_certificates(),
            Seal::Called(connection) => connection.peer_certificates(),
            Seal::Open | Seal::Broken => None,
        };
        public_of(&SubjectPublicKeyInfoDer::from(shown?.first()?.as_ref()))
    }

    /// Name of the cipher, once it is agreed.
    #[cfg(test)]
    pub(crate) fn cipher(&self) -> Option<&'static str> {
        let suite = match self {
            Seal::Caller(connection) => connection.negotiated_cipher_suite(),
            Seal::Called(connection) => connection.negotiated_cipher_suite(),
            Seal::Open | Seal::Broken => None,
        };
        suite.and_then(|suite| suite.suite().as_str())
    }

    fn is_handshaking(&self) -> bool {
        match self {
            Seal::Caller(connection) => connection.is_handshaking(),
            Seal::Called(connection) => connection.is_handshaking(),
            Seal::Open | Seal::Broken => false,
        }
    }

    /// Opens what came: takes bytes from the front of `incoming`, tells how many, and gives what they say to `take`.
    /// What the handshake has to say goes to `outgoing`.
    pub fn open(
        &mut self,
        incoming: &mut [u8],
        outgoing: &mut Outgoing,
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<(usize, Turn), NetFault> {
        let opened = match self {
            _ if self.is_handshaking() && is_other_protocol(incoming) => Err(NetFault::Protocol(
                "the other side does not speak TLS: is it pump serve, without --insecure?".into(),
            )),
            Seal::Caller(connection) => step(connection.process_tls_records(incoming), outgoing, take),
            Seal::Called(connection) => step(connection.process_tls_records(incoming), outgoing, take),
            Seal::Open => {
                take(incoming);
                Ok((incoming.len(), Turn::Ready))
            }
            Seal::Broken => Err(broken_before()),
        };
        if opened.is_err() {
            *self = Seal::Broken;
        }
        opened
    }

    /// Seals bytes: appends them to `outgoing`, and calls `send` with what has gathered there now and then.
    pub(crate) fn seal(
        &mut self,
        plain: &[u8],
        outgoing: &mut Outgoing,
        send: &mut dyn FnMut(&mut Outgoing) -> Result<(), NetFault>,
    ) -> Result<(), NetFault> {
        for piece in plain.chunks(SEALED_BYTES) {
            match self {
                Seal::Caller(connection) => {
                    encrypt(connection.process_tls_records(&mut []), piece, outgoing)?;
                }
                Seal::Called(connection) => {
                    encrypt(connection.process_tls_records(&mut []), piece, outgoing)?;
                }
                Seal::Open => {
                    outgoing.room(piece.len()).copy_from_slice(piece);
                    outgoing.add(piece.len());
                }
                Seal::Broken => return Err(broken_before()),
            }
            if piece.len() == SEALED_BYTES {
                send(outgoing)?;
            }
        }
        Ok(())
    }

    /// Says that nothing more will come.
    pub(crate) fn close(&mut self, outgoing: &mut Outgoing) {
        let room = outgoing.room(2 * RECORD_OVERHEAD_BYTES);
        let used = match self {
            Seal::Caller(connection) => farewell(connection.process_tls_records(&mut []), room),
            Seal::Called(connection) => farewell(connection.process_tls_records(&mut []), room),
            Seal::Open | Seal::Broken => 0,
        };
        outgoing.add(used);
    }
}

fn farewell<Data>(status: UnbufferedStatus<'_, '_, Data>, room: &mut [u8]) -> usize {
    match status.state {
        Ok(ConnectionState::WriteTraffic(mut traffic)) => traffic.queue_close_notify(room).unwrap_or(0),
        _ => 0,
    }
}

fn encrypt<Data>(
    status: UnbufferedStatus<'_, '_, Data>,
    plain: &[u8],
    outgoing: &mut Outgoing,
) -> Result<(), NetFault> {
    let mut traffic = match status.state.map_err(broken)? {
        ConnectionState::WriteTraffic(traffic) => traffic,
        state => return Err(NetFault::Protocol(format!("nothing can be sealed now ({state:?})"))),
    };
    let records = plain.len().div_ceil(RECORD_BYTES).max(1);
    // One more record: the library may have a change of keys to tell.
    let room = outgoing.room(plain.len() + (records + 4) * RECORD_OVERHEAD_BYTES);
    let sealed = traffic.encrypt(plain, room);
    outgoing.add(sealed.map_err(|error| NetFault::Protocol(format!("sealing failed: {error}")))?);
    Ok(())
}

/// Does what the library wants done next.
fn step<Data>(
    status: UnbufferedStatus<'_, '_, Data>,
    outgoing: &mut Outgoing,
    take: &mut dyn FnMut(&[u8]),
) -> Result<(usize, Turn), NetFault> {
    let UnbufferedStatus { mut discard, state, .. } = status;
    let turn = match state.map_err(broken)? {
        ConnectionState::ReadTraffic(mut traffic) => {
            while let Some(record) = traffic.next_record() {
                let record = record.map_err(broken)?;
                discard += record.discard;
                take(record.payload);
            }
            return Ok((discard, Turn::Ready));
        }
        ConnectionState::EncodeTlsData(mut state) => {
            encode(|room| state.encode(room), outgoing)?;
            Turn::Send
        }
        ConnectionState::TransmitTlsData(state) => {
            state.done();
            Turn::Send
        }
        ConnectionState::BlockedHandshake => Turn::Receive,
        ConnectionState::WriteTraffic(_) => Turn::Ready,
        ConnectionState::PeerClosed | ConnectionState::Closed => Turn::Closed,
        state => {
            return Err(NetFault::Protocol(format!("the other side sent what is not wanted ({state:?})")));
        }
    };
    Ok((discard, turn))
}

fn encode(
    mut encode: impl FnMut(&mut [u8]) -> Result<usize, EncodeError>,
    outgoing: &mut Outgoing,
) -> Result<(), NetFault> {
    let mut room = 4 << 10;
    loop {
        match encode(outgoing.room(room)) {
            Ok(used) => {
                outgoing.add(used);
                return Ok(());
            }
            Err(EncodeError::InsufficientSize(wanted)) if wanted.required_size > room => {
                room = wanted.required_size;
            }
            Err(error) => return Err(NetFault::Protocol(format!("the handshake failed: {error}"))),
        }
    }
}

/// Whether bytes at the beginning of a record are none: neither its type nor its version is one of TLS (RFC 8446, section
/// 5.1). One that was damaged has the other.
fn is_other_protocol(incoming: &[u8]) -> bool {
    matches!(incoming, [kind, major, ..] if !(20..=24).contains(kind) && *major != 3)
}

/// Whether bytes begin a handshake of TLS.
pub(crate) fn is_tls_handshake(bytes: &[u8]) -> bool {
    bytes.starts_with(&[22, 3])
}

/// A record of TLS that says "insufficient security" (71, fatal): this side has none.
pub(crate) const NOT_SEALED: [u8; 7] = [21, 3, 3, 0, 2, 2, 71];

fn broken_before() -> NetFault {
    NetFault::Lost("the connection broke before".into())
}

/// What the library says of the other side. A key that is not the right one is a refusal, whoever refuses.
fn broken(error: Error) -> NetFault {
    use rustls::AlertDescription as Alert;
    match error {
        Error::InvalidCertificate(_) => NetFault::Refused(
            "the other side does not have the key of the ticket: is it another server?".into(),
        ),
        Error::AlertReceived(Alert::AccessDenied | Alert::BadCertificate | Alert::CertificateUnknown) => {
            NetFault::Refused("the other side does not know the key of this ticket".into())
        }
        // RFC 8446, section 6.2: "the server requires parameters more secure" or less, as ours says it.
        Error::AlertReceived(Alert::InsufficientSecurity) => NetFault::Refused(
            "the server does not encrypt (pump serve --insecure), and this side does: add --insecure here, or start \
             the server without it"
                .into(),
        ),
        // All else that two pumps say differs from TLS by damage alone.
        error => NetFault::Lost(format!("what was sent was damaged on the way (TLS: {error})")),
    }
}

/// AES with 128 bits first where the CPU computes it (4.7 GB/s a core, against 1.8 of ChaCha20), else
/// ChaCha20.
fn provider() -> Arc<CryptoProvider> {
    use aws_lc_rs::cipher_suite::{
        TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384, TLS13_CHACHA20_POLY1305_SHA256,
    };
    let (aes, larger, chacha) =
        (TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384, TLS13_CHACHA20_POLY1305_SHA256);
    let cipher_suites = if has_aes() { vec![aes, larger, chacha] } else { vec![chacha, aes, larger] };
    Arc::new(CryptoProvider { cipher_suites, ..aws_lc_rs::default_provider() })
}

fn has_aes() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("aes");
    #[cfg(target_arch = "aarch64")]
    return std::arch::is_aarch64_feature_detected!("aes");
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    return false;
}

/// What the called side shows, for all its connections.
pub type CalledConfig = Arc<ServerConfig>;

/// What the holder of this key shows where it is called. It takes any key that the caller proves to have: which keys
/// may what is asked when the handshake is done, so that a refusal can say why.
pub fn called_config(maker: &Seed) -> CalledConfig {
    let resolver = AlwaysResolvesServerRawPublicKeys::new(maker.certified());
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .expect("TLS 1.3 is known")
        .with_client_cert_verifier(Arc::new(AnyKey { provider: provider() }))
        .with_cert_resolver(Arc::new(resolver));
    // Nobody comes back with them, and unread ones reset a connection that is closed.
    config.send_tls13_tickets = 0;
    Arc::new(config)
}

/// The caller's check: the other side has the key that is in the ticket.
#[derive(Debug)]
struct Pinned {
    maker: PublicKey,
    provider: Arc<CryptoProvider>,
}

/// The called side's check: the caller has the key that it shows.
#[derive(Debug)]
struct AnyKey {
    provider: Arc<CryptoProvider>,
}

fn proves(
    provider: &CryptoProvider,
    message: &[u8],
    shown: &CertificateDer<'_>,
    signed: &DigitallySignedStruct,
) -> Result<HandshakeSignatureValid, Error> {
    let key = SubjectPublicKeyInfoDer::from(shown.as_ref());
    verify_tls13_signature_with_raw_key(message, &key, signed, &provider.signature_verification_algorithms)
}

fn public(shown: &CertificateDer<'_>) -> Result<PublicKey, Error> {
    public_of(&SubjectPublicKeyInfoDer::from(shown.as_ref()))
        .ok_or(Error::InvalidCertificate(CertificateError::BadEncoding))
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if public(shown)? == self.maker {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(Error::InvalidCertificate(CertificateError::UnknownIssuer))
        }
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("TLS 1.2 is not spoken here".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        proves(&self.provider, message, shown, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ClientCertVerifier for AnyKey {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        public(shown).map(|_| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("TLS 1.2 is not spoken here".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        proves(&self.provider, message, shown, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One side, and what came to it.
    struct Side {
        seal: Seal,
        incoming: Vec<u8>,
        outgoing: Outgoing,
    }

    impl Side {
        fn of(seal: Result<Seal, NetFault>) -> Side {
            Side { seal: seal.expect("a side"), incoming: Vec::new(), outgoing: Outgoing::default() }
        }

        /// Opens what came.
        fn go(&mut self) -> Result<Turn, NetFault> {
            loop {
                let (used, turn) = self.seal.open(&mut self.incoming, &mut self.outgoing, &mut |_| ())?;
                self.incoming.drain(..used);
                if turn != Turn::Send {
                    return Ok(turn);
                }
            }
        }
    }

    /// What one has said comes to the other, with one bit of all that was said turned over.
    fn carry(from: &mut Side, to: &mut Side, left: &mut Option<usize>) {
        let at = to.incoming.len();
        to.incoming.extend_from_slice(from.outgoing.bytes());
        from.outgoing.clear();
        let come = to.incoming.len() - at;
        if left.is_some_and(|left| left < come) {
            to.incoming[at + left.take().expect("it is some")] ^= 4;
        }
        *left = left.map(|left| left - come);
    }

    /// The library panics when it is asked anything, even to close, after some of its errors.
    #[test]
    fn what_is_damaged_ends_a_connection_wherever_it_is() {
        let (maker, holder) = (Seed::random(), Seed::random());
        let (config, ticket) = (called_config(&maker), Ticket { holder, maker: maker.public() });
        let mut faults = 0;
        for damaged_at in 0.. {
            let (mut caller, mut called) = (Side::of(Seal::caller(&ticket)), Side::of(Seal::called(&config)));
            let mut left = Some(damaged_at);
            let mut fault = None;
            for round in 0..8 {
                for is_callers in [true, false] {
                    let (one, other) =
                        if is_callers { (&mut caller, &mut called) } else { (&mut called, &mut caller) };
                    let went = one.go();
                    if round > 3 && went == Ok(Turn::Ready) {
                        let _ = one.seal.seal(b"a message", &mut one.outgoing, &mut |_| Ok(()));
                    }
                    fault = fault.or(went.err());
                    carry(one, other, &mut left);
                }
            }
            caller.seal.close(&mut caller.outgoing);
            called.seal.close(&mut called.outgoing);
            faults += usize::from(fault.is_some());
            // The bit lies behind all that is said.
            if left.is_some() {
                break;
            }
        }
        assert!(faults > 500, "{faults}");
    }
}
