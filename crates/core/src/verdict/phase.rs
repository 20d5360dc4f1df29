//! The phase of a job, as progress shows it.
//!
//! Must not know: who does it.

crate::closed_list! {
    /// What a job does at the moment.
    Phase {
        Scanning "scanning"
        Copying "copying"
        Syncing "syncing"
        Attributes "attributes"
        Deleting "deleting"
        Verifying "verifying"
    }
}

#[expect(clippy::derivable_impls, reason = "a closed list has no place for the attribute")]
impl Default for Phase {
    fn default() -> Phase {
        Phase::Copying
    }
}

impl Phase {
    /// As it is shown to people; nothing while it copies, which the numbers say.
    pub fn shown(self) -> Option<&'static str> {
        match self {
            Phase::Copying => None,
            Phase::Attributes => Some("setting attributes"),
            other => Some(other.words()),
        }
    }
}
