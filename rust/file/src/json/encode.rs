//! From text to the binary form.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::{entry, header, number};
use crate::{FileError, Result};

/// A value whose objects are sorted, and have no key twice.
enum Value {
    Null,
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Double(f64),
    String(String),
    Array(Vec<Value>),
    Object(BTreeMap<String, Value>),
}

/// Appends the binary form of a JSON text.
///
/// # Errors
///
/// `InvalidInput` when the text is no JSON, or an object has a key twice.
pub(crate) fn to_binary(text: &str, out: &mut Vec<u8>) -> Result<()> {
    let value: Value = serde_json::from_str(text)
        .map_err(|error| FileError::invalid_input(format!("a text that is no JSON: {error}")))?;
    match &value {
        Value::Array(_) | Value::Object(_) => append_container(&value, out),
        _ => {
            push_word(header::SCALAR, out);
            let at = reserve(1, out);
            append(&value, at, out)
        }
    }
}

fn append_container(value: &Value, out: &mut Vec<u8>) -> Result<()> {
    match value {
        Value::Array(items) => {
            push_word(header::ARRAY | length(items.len())?, out);
            let at = reserve(items.len(), out);
            append_all(items.iter(), at, out)
        }
        Value::Object(fields) => {
            push_word(header::OBJECT | length(fields.len())?, out);
            let at = reserve(2 * fields.len(), out);
            for (field, key) in fields.keys().enumerate() {
                out.extend_from_slice(key.as_bytes());
                put_word(entry::STRING | length(key.len())?, at + 4 * field, out);
            }
            append_all(fields.values(), at + 4 * fields.len(), out)
        }
        _ => Ok(()),
    }
}

fn append_all<'a>(
    values: impl Iterator<Item = &'a Value>,
    entries: usize,
    out: &mut Vec<u8>,
) -> Result<()> {
    for (number, value) in values.enumerate() {
        append(value, entries + 4 * number, out)?;
    }
    Ok(())
}

/// Appends a payload, and fills in its entry at `at`.
fn append(value: &Value, at: usize, out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    let kind = match value {
        Value::Null => entry::NULL,
        Value::Bool(false) => entry::FALSE,
        Value::Bool(true) => entry::TRUE,
        Value::String(text) => {
            out.extend_from_slice(text.as_bytes());
            entry::STRING
        }
        Value::Unsigned(0) | Value::Signed(0) => {
            out.push(number::ZERO);
            entry::NUMBER
        }
        Value::Unsigned(value) => {
            append_number(
                number::UNSIGNED,
                value.to_be_bytes(),
                unsigned_width(*value),
                out,
            );
            entry::NUMBER
        }
        Value::Signed(value) => {
            append_number(
                number::SIGNED,
                value.to_be_bytes(),
                signed_width(*value),
                out,
            );
            entry::NUMBER
        }
        Value::Double(value) => {
            append_number(number::DOUBLE, value.to_be_bytes(), 8, out);
            entry::NUMBER
        }
        Value::Array(_) | Value::Object(_) => {
            append_container(value, out)?;
            entry::CONTAINER
        }
    };
    put_word(kind | length(out.len() - start)?, at, out);
    Ok(())
}

fn append_number(kind: u8, bytes: [u8; 8], width: usize, out: &mut Vec<u8>) {
    out.push(kind);
    out.extend_from_slice(&bytes[8 - width..]);
}

fn unsigned_width(value: u64) -> usize {
    match value {
        0..=0xFF => 1,
        0x100..=0xFFFF => 2,
        0x1_0000..=0xFFFF_FFFF => 4,
        _ => 8,
    }
}

fn signed_width(value: i64) -> usize {
    if i8::try_from(value).is_ok() {
        1
    } else if i16::try_from(value).is_ok() {
        2
    } else if i32::try_from(value).is_ok() {
        4
    } else {
        8
    }
}

/// Makes room for entries, and says where they are.
fn reserve(entries: usize, out: &mut Vec<u8>) -> usize {
    let at = out.len();
    out.resize(at + 4 * entries, 0);
    at
}

fn push_word(word: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&word.to_be_bytes());
}

fn put_word(word: u32, at: usize, out: &mut [u8]) {
    out[at..at + 4].copy_from_slice(&word.to_be_bytes());
}

/// A length or a count, which has 28 bits.
fn length(len: usize) -> Result<u32> {
    u32::try_from(len)
        .ok()
        .filter(|len| len & entry::KINDS == 0)
        .ok_or_else(|| FileError::invalid_input("a JSON value of more than 256 MiB"))
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> std::result::Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> std::result::Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> std::result::Result<Value, E> {
        Ok(Value::Unsigned(value))
    }

    fn visit_i64<E>(self, value: i64) -> std::result::Result<Value, E> {
        Ok(Value::Signed(value))
    }

    fn visit_f64<E>(self, value: f64) -> std::result::Result<Value, E> {
        Ok(Value::Double(value))
    }

    fn visit_str<E>(self, value: &str) -> std::result::Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> std::result::Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> std::result::Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element()? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> std::result::Result<Value, A::Error> {
        let mut object = BTreeMap::new();
        while let Some((key, value)) = fields.next_entry::<String, Value>()? {
            if object.contains_key(&key) {
                return Err(A::Error::custom(format!("the key \"{key}\" twice")));
            }
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}
