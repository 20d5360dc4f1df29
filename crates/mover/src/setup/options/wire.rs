//! Options as another host receives them: one flat object of JSON, without what has its default.
//!
//! Must not know: messages, which side asks.

use std::collections::BTreeMap;

use datapump_files::commit::aside::Backup;
use serde::Deserialize;
use serde::de::{Error, IgnoredAny};
use serde_json::{Map, Value, from_str};

use crate::setup::options::{Options, told_bytes};

/// Options outside of groups.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Ungrouped {
    backup: Option<Backup>,
    dry_run: bool,
}

impl Options {
    /// Options for another host, without those that have their default. A version that does not know one of them
    /// refuses it: it would copy otherwise than was asked.
    pub fn to_wire(&self) -> String {
        let defaults = Options::default().fields();
        let changed = self.fields().into_iter().filter(|(name, value)| defaults.get(name) != Some(value));
        told_bytes::json(Value::Object(changed.collect()))
    }

    /// Options as another host sent them. Each group reads its own fields from the text, so that a long list of names
    /// is never held as values.
    pub fn from_wire(text: &str) -> Result<Options, serde_json::Error> {
        let known = Options::default().fields();
        let sent: BTreeMap<String, IgnoredAny> = from_str(text)?;
        if let Some(name) = sent.keys().find(|&name| !known.contains_key(name)) {
            return Err(Error::custom(format!("unknown field `{name}`")));
        }
        let Ungrouped { backup, dry_run } = from_str(text)?;
        Ok(Options {
            selection: from_str(text)?,
            comparison: from_str(text)?,
            deletion: from_str(text)?,
            attributes: from_str(text)?,
            durability: from_str(text)?,
            links: from_str(text)?,
            place: from_str(text)?,
            network: from_str(text)?,
            tuning: from_str(text)?,
            reporting: from_str(text)?,
            measuring: from_str(text)?,
            limits: from_str(text)?,
            backup,
            dry_run,
        })
    }

    fn fields(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        }
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
        let fields = Options::default().fields();
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
