//! Bytes in options as they are sent to another host: numbers, which every version reads, or text where those would be
//! too long for a message. A list of 100,000 short names is a megabyte as text, and more than three as numbers.
//!
//! Must not know: which option they are of.

use serde_json::Value;

/// More than this does not fit into a message beside the places.
pub const OPTIONS_BYTES_MAX: usize = 900 << 10;

/// The JSON of options, with bytes as text if it would be too long else. A version that does not know that refuses it.
pub(super) fn to_json(mut options: Value) -> String {
    let text = options.to_string();
    if text.len() <= OPTIONS_BYTES_MAX {
        return text;
    }
    if let Some(parts) = options.get_mut("selection").and_then(Value::as_array_mut) {
        let fields = parts.iter_mut().filter_map(Value::as_object_mut).flat_map(|part| part.values_mut());
        fields.for_each(|field| match field {
            // A list, and how its names end.
            Value::Array(list) if list.len() == 2 && list[1].is_boolean() => make_text(&mut list[0]),
            field => make_text(field),
        });
    }
    options.to_string()
}

fn make_text(field: &mut Value) {
    let byte = |number: &Value| number.as_u64().and_then(|number| u8::try_from(number).ok());
    let bytes: Option<Vec<u8>> = field.as_array().and_then(|all| all.iter().map(byte).collect());
    if let Some(text) = bytes.and_then(|bytes| String::from_utf8(bytes).ok()) {
        *field = Value::String(text);
    }
}

#[cfg(test)]
mod tests {
    use crate::setup::options::{Options, Selection};

    use super::*;

    #[test]
    fn a_long_list_is_text_and_means_the_same() {
        let names = |count: u32| (0..count).flat_map(|name| format!("n{name:06}\n").into_bytes()).collect();
        for (count, is_text) in [(1000, false), (100_000, true)] {
            let selection = vec![
                Selection::Exclude(b"*.o".to_vec()),
                Selection::Names(names(count), false),
                Selection::Exclude(vec![0xff]),
            ];
            let options = Options::default().with(|it| it.selection.rules = selection);
            let told = options.to_wire();
            assert!(told.len() <= OPTIONS_BYTES_MAX && told.contains("n000001") == is_text, "{}", told.len());
            assert_eq!(Options::from_wire(&told).expect("it is read"), options);
        }
    }
}
