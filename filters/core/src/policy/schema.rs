//! The JSON Schema of the document.

use schemars::{Schema, generate::SchemaSettings, transform::transform_subschemas};
use serde_json::Value;

use super::document::Document;

/// The JSON Schema (draft 2020-12) of a policy document, for editors.
///
/// It says what shape a document has; [`Policy::parse`](super::Policy::parse) says whether it means something.
pub fn schema() -> Value {
    let mut schema = SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<Document>();
    schema.insert("title".to_owned(), "Tidegate policy".into());
    tidy(&mut schema);
    schema.into()
}

/// Takes `null` out, for an optional key is left out, never `null`; and what says nothing to an editor.
fn tidy(schema: &mut Schema) {
    schema.remove("format");
    if let Some(Value::String(description)) = schema.get_mut("description") {
        *description = description.replace('\n', " ");
    }
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
        choices.retain(|choice| choice.get("type").is_none_or(|name| name != "null"));
        if let [Value::Object(only)] = choices.as_slice() {
            let only = only.clone();
            schema.remove("anyOf");
            for (key, value) in only {
                schema.insert(key, value);
            }
        }
    }
    transform_subschemas(&mut tidy, schema);
}
