//! A ticket: what lets its holder into a served folder. One word of digits and letters, never on a command line.
//!
//! It holds the holder's private key, made for this ticket alone, and the public key of who made it; each side shows
//! the other its key in the handshake. What a ticket allows is known to who made it, not written in it.
//!
//! Must not know: connections, what is served.

use super::keys::{KEY_BYTES, PublicKey, Seed};

/// The first letters of every ticket; the digit is the version.
const PREFIX: &str = "pump1-";

/// A ticket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// The holder's private key.
    pub(crate) holder: Seed,
    /// The key of who made the ticket.
    pub(crate) maker: PublicKey,
}

impl Ticket {
    /// A new one: `holder` is let in by who has the private key of `maker`.
    pub fn new(holder: Seed, maker: PublicKey) -> Ticket {
        Ticket { holder, maker }
    }

    /// Reads the word.
    ///
    /// Errors: what is no ticket; the word itself is not repeated.
    pub fn parse(word: &str) -> Result<Ticket, String> {
        let wrong = || {
            "this is no ticket: one is a word that begins with pump1- as `pump serve` prints it".to_string()
        };
        let digits = word.trim().strip_prefix(PREFIX).filter(|digits| digits.is_ascii()).ok_or_else(wrong)?;
        let (holder, maker) = digits.split_at_checked(2 * KEY_BYTES).ok_or_else(wrong)?;
        let key =
            |digits: &str| blake3::Hash::from_hex(digits).map(|key| *key.as_bytes()).map_err(|_| wrong());
        Ok(Ticket { holder: Seed(key(holder)?), maker: key(maker)? })
    }

    /// The word.
    pub fn word(&self) -> String {
        let digits = |key: [u8; KEY_BYTES]| blake3::Hash::from_bytes(key).to_hex();
        format!("{PREFIX}{}{}", digits(self.holder.0), digits(self.maker))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_read_as_it_was_written() {
        let ticket = Ticket { holder: Seed([0xa5; 32]), maker: [7; 32] };
        let word = ticket.word();
        assert_eq!((word.len(), Ticket::parse(&format!(" {word}\n"))), (134, Ok(ticket)));
        for wrong in
            ["", "pump1-", "pump2-00", &word[..133], &format!("{word}0"), &word.replace('a', "g"), "pump1-ä"]
        {
            let error = Ticket::parse(wrong).expect_err(wrong);
            assert!(wrong.len() < 8 || !error.contains(wrong), "the word is not repeated");
        }
    }
}
