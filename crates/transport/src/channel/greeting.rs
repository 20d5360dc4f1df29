//! The greeting of a connection and the reply to it, which nobody has to wait for: what follows the greeting may be
//! sent behind it.
//!
//! Must not know: what is greeted for.

use datapump_core::wire::hello::{Reply, read_reply};

use super::Channel;
use crate::fault::NetFault;

impl Channel {
    /// Greets; sent with what is said next. The reply is read before anything else is received.
    pub(crate) fn put_greeting(&mut self, greeting: &[u8]) -> Result<(), NetFault> {
        self.awaits_reply = true;
        self.put_message(greeting, 0)
    }

    /// What the other side replied to the greeting, once it did.
    pub fn take_reply(&mut self) -> Option<Reply> {
        self.reply.take()
    }

    /// Waits for the reply to the greeting.
    ///
    /// Errors: it is a refusal.
    pub fn receive_reply(&mut self) -> Result<(), NetFault> {
        if std::mem::take(&mut self.awaits_reply) {
            let (body, _) = self.receive_message()?;
            self.reply = Some(NetFault::of_reply(read_reply(&body)?)?);
        }
        Ok(())
    }
}
