//! What may be meant by a name that no built-in study has.
//!
//! Must not know: what a study is made of, who asks.

use super::STUDIES;

/// Jaro's measure, as clap compares names of flags; with its 0.7 `nothing` is like `tcp-sharing`.
const SIMILARITY_MIN: f64 = 0.8;
/// More would be a list.
const SIMILAR_MAX: usize = 3;

/// Which studies there are, in words: the similar ones, else where all are named.
pub(crate) fn hint(name: &str) -> String {
    match &similar(name)[..] {
        [] => "`pump lab list` names them".into(),
        [one] => format!("a similar study exists: '{one}'"),
        some => format!("some similar studies exist: '{}'", some.join("', '")),
    }
}

/// The most similar first.
fn similar(name: &str) -> Vec<&'static str> {
    let name = name.to_lowercase();
    let likeness = |study: &'static str| (strsim::jaro(&name, study), study);
    let mut similar: Vec<(f64, &'static str)> =
        STUDIES.iter().map(|study| likeness(study.name)).filter(|it| it.0 > SIMILARITY_MIN).collect();
    similar.sort_by(|one, other| other.0.total_cmp(&one.0));
    similar.into_iter().take(SIMILAR_MAX).map(|(_, study)| study).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_finds_its_study() {
        for (name, first) in [
            ("peers-locl-file", "peers-local-file"),
            ("udp_latency", "udp-latency"),
            ("seqoi", "seqio"),
            ("tcp-bufers", "tcp-buffers"),
            ("CPU", "cpu"),
            ("nothing", ""),
            ("./my-own.toml", ""),
            ("", ""),
        ] {
            let found = similar(name);
            assert_eq!(found.first().copied().unwrap_or_default(), first, "{name}: {found:?}");
            let hint = hint(name);
            assert_eq!(hint.contains("similar"), !first.is_empty(), "{name}: {hint}");
        }
    }
}
