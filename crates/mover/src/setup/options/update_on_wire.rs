//! `--update` in the form in which it is sent to another host. Versions that know nothing but yes and no understand
//! those, and refuse the rest.
//!
//! Must not know: what it decides.

use datapump_core::name::Update;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum UpdateOnWire {
    Older(bool),
    Named(String),
}

const DIFFERS: &str = "differs";

/// Writes the option as older versions read it: a flag for `--update` alone, else a name.
pub(super) fn serialize<S: Serializer>(update: &Update, serializer: S) -> Result<S::Ok, S::Error> {
    let sent = match update {
        Update::All => UpdateOnWire::Older(false),
        Update::Older => UpdateOnWire::Older(true),
        Update::Differs => UpdateOnWire::Named(DIFFERS.into()),
    };
    sent.serialize(serializer)
}

/// Reads a flag or a name.
///
/// Errors: a name that this version does not know.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Update, D::Error> {
    match UpdateOnWire::deserialize(deserializer)? {
        UpdateOnWire::Older(false) => Ok(Update::All),
        UpdateOnWire::Older(true) => Ok(Update::Older),
        UpdateOnWire::Named(name) if name == DIFFERS => Ok(Update::Differs),
        UpdateOnWire::Named(name) => Err(de::Error::custom(format!("this version knows no --update={name}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_version_understands_what_it_knows_and_refuses_the_rest() {
        for (update, told) in
            [(Update::All, "false"), (Update::Older, "true"), (Update::Differs, "\"differs\"")]
        {
            let json = serialize(&update, serde_json::value::Serializer).expect("it is sent");
            assert_eq!(json.to_string(), told);
            assert_eq!(deserialize(json).expect("it is read"), update);
        }
        let unknown = deserialize(serde_json::json!("newer")).expect_err("nobody knows that");
        assert!(unknown.to_string().contains("--update=newer"), "{unknown}");
    }
}
