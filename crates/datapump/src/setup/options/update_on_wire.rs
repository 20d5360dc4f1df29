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

pub(super) fn serialize<S: Serializer>(update: &Update, serializer: S) -> Result<S::Ok, S::Error> {
    let sent = match update {
        Update::All => UpdateOnWire::Older(false),
        Update::Older => UpdateOnWire::Older(true),
        Update::Differs => UpdateOnWire::Named(DIFFERS.into()),
    };
    sent.serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Update, D::Error> {
    match UpdateOnWire::deserialize(deserializer)? {
        UpdateOnWire::Older(false) => Ok(Update::All),
        UpdateOnWire::Older(true) => Ok(Update::Older),
        UpdateOnWire::Named(name) if name == DIFFERS => Ok(Update::Differs),
        UpdateOnWire::Named(name) => Err(de::Error::custom(format!("this version knows no --update={name}"))),
    }
}
