//! Options as another host receives them: one flat object of JSON, without what has its default.
//!
//! Must not know: messages, which side asks.

use std::collections::BTreeMap;
use std::fmt;

use datapump_files::commit::aside::Backup;
use serde::de::value::MapDeserializer;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Error, Map, Value, from_str};

use crate::setup::options::{Options, told_bytes};

/// Options outside of groups.
#[derive(Default, Deserialize, Serialize)]
#[serde(default)]
struct Ungrouped {
    backup: Option<Backup>,
    dry_run: bool,
}

impl Options {
    /// Options for another host, without those that have their default. A version that does not know one of them
    /// refuses it: it would copy otherwise than was asked.
    pub fn to_wire(&self) -> String {
        let defaults = fields_of(&Options::default());
        let changed = fields_of(self).into_iter().filter(|(name, value)| defaults.get(name) != Some(value));
        told_bytes::to_json(Value::Object(changed.collect()))
    }

    /// Options as another host sent them. The text is read once, and each group takes its own fields from it, so that a
    /// long list of names is never held as values.
    pub fn from_wire(text: &str) -> Result<Options, Error> {
        let mut sent: SentFields<'_> = from_str(text)?;
        let options = Options {
            selection: sent.take_group()?,
            comparison: sent.take_group()?,
            deletion: sent.take_group()?,
            attributes: sent.take_group()?,
            durability: sent.take_group()?,
            links: sent.take_group()?,
            place: sent.take_group()?,
            network: sent.take_group()?,
            tuning: sent.take_group()?,
            reporting: sent.take_group()?,
            measuring: sent.take_group()?,
            limits: sent.take_group()?,
            ..sent.take_group::<Ungrouped>()?.into()
        };
        sent.check_all_taken().map(|()| options)
    }
}

fn fields_of(group: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(group) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

impl From<Ungrouped> for Options {
    fn from(Ungrouped { backup, dry_run }: Ungrouped) -> Options {
        Options { backup, dry_run, ..Options::default() }
    }
}

/// Fields that were sent and that no group has taken, each as its text.
struct SentFields<'text>(BTreeMap<String, &'text RawValue>);

impl<'text> SentFields<'text> {
    fn take_group<T: Default + Serialize + Deserialize<'text>>(&mut self) -> Result<T, Error> {
        let own = fields_of(&T::default()).into_iter().filter_map(|(name, _)| self.0.remove_entry(&name));
        T::deserialize(MapDeserializer::new(own.collect::<Vec<_>>().into_iter()))
    }

    fn check_all_taken(&self) -> Result<(), Error> {
        let unknown = |name: &String| Err(Error::custom(format!("unknown field `{name}`")));
        self.0.keys().next().map_or(Ok(()), unknown)
    }
}

impl<'text> Deserialize<'text> for SentFields<'text> {
    fn deserialize<D: Deserializer<'text>>(from: D) -> Result<SentFields<'text>, D::Error> {
        from.deserialize_map(SentVisitor)
    }
}

struct SentVisitor;

impl<'text> Visitor<'text> for SentVisitor {
    type Value = SentFields<'text>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("options")
    }

    /// Keeps the text of each field.
    ///
    /// Errors: a field is given twice.
    fn visit_map<A: MapAccess<'text>>(self, mut from: A) -> Result<SentFields<'text>, A::Error> {
        let mut fields = BTreeMap::new();
        while let Some((name, value)) = from.next_entry::<String, &RawValue>()? {
            if fields.contains_key(&name) {
                return Err(A::Error::custom(format!("duplicate field `{name}`")));
            }
            fields.insert(name, value);
        }
        Ok(SentFields(fields))
    }
}

#[cfg(test)]
mod tests {
    use crate::setup::options::Selection;

    use super::*;

    /// The names that earlier versions know.
    const NAMES: &str = "backup bill bytes_per_second changes checksum compare_attributes content_only delete delete_excluded \
        devices direct dry_run dsync engine existing far_null_bytes follow ignore_existing ignore_holes \
        inplace keep keep_links lanes lanes_at_first lanes_max latencies link_dest list_is_default make_path \
        makes_holes max_delete max_size_bytes min_size_bytes mirror modify_window no_reserve no_resume notes \
        one_file_system ownership patterns_begin_above permissions read_ahead reflink rehearsal_bytes \
        remove_sources request_bytes safe_links selection sink_depth size_only sockets source_depth sync \
        target_is_folder target_is_name uncached unhashed update verify wait";

    #[test]
    fn options_have_the_names_on_the_wire_that_they_always_had() {
        let fields = fields_of(&Options::default());
        assert_eq!(
            fields.keys().map(String::as_str).collect::<Vec<_>>(),
            NAMES.split(' ').collect::<Vec<_>>()
        );
        let options = Options::default().with(|it| {
            it.selection.rules = vec![Selection::Exclude(b"*.o".to_vec())];
            it.tuning.lanes = Some(3);
            it.dry_run = true;
        });
        assert_eq!(options.to_wire(), r#"{"dry_run":true,"lanes":3,"selection":[{"Exclude":[42,46,111]}]}"#);
        assert_eq!(Options::from_wire(&options.to_wire()).expect("it is read"), options);
        let error = Options::from_wire(r#"{"lanes":3,"later":1}"#).expect_err("nobody knows that");
        assert!(error.to_string().starts_with("unknown field `later`"), "{error}");
        assert!(Options::from_wire(r#"{"lanes":1,"lanes":2}"#).is_err());
    }
}
