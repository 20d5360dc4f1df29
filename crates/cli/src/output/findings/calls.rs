//! System calls that a sandbox refuses, or that this kernel lacks, and what is used instead.
//!
//! Must not know: how it is found out.

use datapump_engine::os::linux::KernelCall;
use schemars::JsonSchema;
use serde::Serialize;

use super::Finding;

/// What lets a container make more system calls.
pub(super) const ALLOWED_BY: &str = "docker run --security-opt seccomp=PROFILE.json …";

/// A system call that some sandboxes refuse.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CallState {
    /// Its name, such as `openat2`.
    pub call: String,
    /// The error by which it is refused here, whatever it is for; none: it is available.
    pub refused: Option<String>,
    /// The way that is used where it is refused; none: what needs the call fails.
    pub other_way: Option<String>,
}

impl CallState {
    /// A line for people.
    pub fn words(&self) -> Option<String> {
        let (call, refused) = (&self.call, self.refused.as_ref()?);
        let other_way = self.other_way.as_deref().map(|words| format!("instead: {words}"));
        Some(format!("{call}: {refused}; {}", other_way.as_deref().unwrap_or("what needs it fails")))
    }
}

pub(super) fn system_calls(refused: &[(KernelCall, String)]) -> Finding {
    let name = "system calls";
    let all = KernelCall::ALL.len();
    let state = |call: &KernelCall| CallState {
        call: call.name().into(),
        refused: refused.iter().find(|(known, _)| known == call).map(|(_, words)| words.clone()),
        other_way: call.other_way().map(str::to_owned),
    };
    let value = match refused.len() {
        0 => format!("all {all} that sandboxes may refuse are available"),
        count => format!("{count} of {all} are refused by a sandbox, or missing in this kernel"),
    };
    let has_ways = refused.iter().all(|(call, _)| call.other_way().is_some());
    let finding = if has_ways {
        Finding::good(name, value)
    } else {
        Finding::change(
            name,
            value,
            "some of them have no other way, and what needs them fails; allow them in the seccomp profile",
            ALLOWED_BY,
        )
    };
    Finding { calls: KernelCall::ALL.iter().map(state).collect(), ..finding }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_call_is_named_with_its_other_way() {
        let (words, none) = (|| "no".to_owned(), system_calls(&[]));
        assert!(none.good && none.calls.iter().all(|call| call.words().is_none()), "{none:?}");
        for (call, good, line) in [
            (KernelCall::CopyFileRange, true, "copy_file_range: no; instead: read and write"),
            (KernelCall::Flock, false, "flock: no; what needs it fails"),
        ] {
            let finding = system_calls(&[(call, words())]);
            let lines: Vec<String> = finding.calls.iter().filter_map(CallState::words).collect();
            assert_eq!((finding.good, lines), (good, vec![line.to_owned()]));
            assert!(finding.value.starts_with("1 of "), "{finding:?}");
        }
    }
}
