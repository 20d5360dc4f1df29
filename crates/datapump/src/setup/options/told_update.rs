//! `--update` in the form in which it is sent to another host. Versions that know nothing but yes and no understand
//! those, and refuse the rest.
//!
//! Must not know: what it decides.

use datapump_core::name::Update;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum ToldUpdate {
    Older(bool),
    Named(String),
}

const DIFFERS: &str = "differs";

pub(super) fn serialize<S: Serializer>(update: &Update, serializer: S) -> Result<S::Ok, S::Error> {
    let told = match update {
        Update::All => ToldUpdate::Older(false),
        Update::Older => ToldUpdate::Older(true),
        Update::Differs => ToldUpdate::Named(DIFFERS.into()),
    };
    told.serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Update, D::Error> {
    match ToldUpdate::deserialize(deserializer)? {
        ToldUpdate::Older(false) => Ok(Update::All),
        ToldUpdate::Older(true) => Ok(Update::Older),
        ToldUpdate::Named(name) if name == DIFFERS => Ok(Update::Differs),
        ToldUpdate::Named(name) => Err(de::Error::custom(format!("this version knows no --update={name}"))),
    }
}
