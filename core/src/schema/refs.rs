//! References inside one schema document: `#`, `#/$defs/Name`. Nothing here ever looks outside the document.

use super::{
    error::SchemaError,
    keywords::{Content, content},
};
use serde_json::Value;

/// The target of a reference inside the document; `None` for anchors, other documents and dangling pointers.
pub(crate) fn resolve<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    let pointer = reference.strip_prefix('#')?;
    if pointer.contains('%') { root.pointer(&unescape(pointer)?) } else { root.pointer(pointer) }
}

/// Undoes the %-escapes of a URI's fragment.
fn unescape(fragment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut parts = fragment.split('%');
    bytes.extend_from_slice(parts.next()?.as_bytes());
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend_from_slice(part.get(2..)?.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

/// The name under which the document defines the target: `Item` for `#/$defs/Item`.
pub(super) fn defined_name(reference: &str) -> Option<String> {
    let name = ["#/$defs/", "#/definitions/"].iter().find_map(|path| reference.strip_prefix(path))?;
    // A pointer further inside a definition is not the definition.
    (!name.contains('/')).then(|| unescape(name).map(|name| name.replace("~1", "/").replace("~0", "~")))?
}

/// Whether a reference stays inside its document.
fn is_local(reference: &str) -> bool {
    reference.starts_with('#')
}

/// Refuses references that leave the document or lead nowhere.
pub(super) fn check(root: &Value) -> Result<(), SchemaError> {
    let mut open = vec![(String::from("#"), root)];
    while let Some((place, schema)) = open.pop() {
        let Value::Object(map) = schema else { continue };
        for (keyword, value) in map {
            let here = format!("{place}/{}", escape(keyword));
            match content(keyword, value) {
                Content::Reference(reference) => check_one(root, reference, here)?,
                Content::Dynamic(reference) if !is_local(reference) => {
                    return Err(SchemaError::Remote { place: here, reference: reference.to_owned() });
                }
                Content::Schema(inner) => open.push((here, inner)),
                Content::Ordered(list) | Content::Unordered(list) => {
                    open.extend(
                        list.iter().enumerate().map(|(index, inner)| (format!("{here}/{index}"), inner)),
                    );
                }
                Content::Named(map) | Content::Definitions(map) => {
                    open.extend(map.iter().map(|(name, inner)| (format!("{here}/{}", escape(name)), inner)));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

fn check_one(root: &Value, reference: &str, place: String) -> Result<(), SchemaError> {
    if !is_local(reference) {
        return Err(SchemaError::Remote { place, reference: reference.to_owned() });
    }
    // An anchor (`#name`) is left to the validator, which knows them.
    let is_pointer = reference == "#" || reference.starts_with("#/");
    if is_pointer && resolve(root, reference).is_none() {
        let names = |keyword: &str| root.get(keyword).and_then(Value::as_object).into_iter().flatten();
        let known: Vec<&str> =
            names("$defs").chain(names("definitions")).map(|(name, _)| name.as_str()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        return Err(SchemaError::Unresolved { place, reference: reference.to_owned(), known });
    }
    Ok(())
}

fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
