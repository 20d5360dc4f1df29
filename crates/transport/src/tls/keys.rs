//! Keys of the two sides: Ed25519 (RFC 8032), shown to the other side as raw public keys (RFC 7250). There are no
//! certificates and no authorities: who made a ticket put both keys into it.
//!
//! Must not know: what a key is for, how keys are handed over.

use rustls::crypto::aws_lc_rs::{default_provider, sign};
use rustls::pki_types::{PrivatePkcs8KeyDer, SubjectPublicKeyInfoDer};
use rustls::sign::{CertifiedKey, SigningKey};
use std::sync::Arc;

/// Bytes of a seed, and of a public key.
pub(crate) const KEY_BYTES: usize = 32;
/// Before the 32 bytes of a seed: PKCS #8 of Ed25519 (RFC 8410, 7).
const PKCS8: [u8; 16] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
/// Before the 32 bytes of a public key: SubjectPublicKeyInfo of Ed25519 (RFC 8410, 4).
const SPKI: [u8; 12] = [0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0];

/// A public key.
pub type PublicKey = [u8; KEY_BYTES];

/// A private key, as the 32 random bytes that it is made from.
#[derive(Clone, PartialEq, Eq)]
pub struct Seed(pub(crate) [u8; KEY_BYTES]);

impl std::fmt::Debug for Seed {
    /// Secrets do not get into logs.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Seed(…)")
    }
}

impl Seed {
    /// A new one.
    pub fn random() -> Seed {
        Seed(random())
    }

    fn signing_key(&self) -> Arc<dyn SigningKey> {
        let der = [&PKCS8[..], &self.0].concat();
        sign::any_eddsa_type(&PrivatePkcs8KeyDer::from(der)).expect("any 32 bytes are a key")
    }

    /// The public key that belongs to it.
    pub fn public(&self) -> PublicKey {
        let key = self.signing_key();
        let spki = key.public_key().expect("Ed25519 shows its public key");
        public_of(&spki).expect("a key of our own kind")
    }

    /// The key as the other side is shown it.
    pub(crate) fn certified(&self) -> Arc<CertifiedKey> {
        let key = self.signing_key();
        let spki = key.public_key().expect("Ed25519 shows its public key").into_owned();
        Arc::new(CertifiedKey::new(vec![spki.to_vec().into()], key))
    }
}

/// The public key in what a peer has shown.
pub(crate) fn public_of(spki: &SubjectPublicKeyInfoDer<'_>) -> Option<PublicKey> {
    spki.strip_prefix(&SPKI)?.try_into().ok()
}

/// Random bytes that nobody can guess.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    default_provider().secure_random.fill(&mut bytes).expect("the system has random bytes");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8032, 7.1, test 1.
    #[test]
    fn a_public_key_is_that_of_the_standard() {
        let bytes = |hex: &str| *blake3::Hash::from_hex(hex).expect("64 digits").as_bytes();
        let seed = Seed(bytes("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"));
        assert_eq!(seed.public(), bytes("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"));
        assert_eq!(format!("{seed:?}"), "Seed(…)");
        assert_ne!(Seed::random(), Seed::random());
    }
}
