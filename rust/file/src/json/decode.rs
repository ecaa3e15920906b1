//! From the binary form to text.

use serde::Serialize;

use super::{entry, header, number};
use crate::{FileError, Result};

/// Containers within containers: far beyond any real document, and shallow enough for recursion.
const MAX_DEPTH: usize = 500;

/// Appends the text of a JSON value's binary form.
///
/// # Errors
///
/// `Corrupt` when the bytes are not a value's.
pub(crate) fn to_text(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    append_container(bytes, 0, out)
}

fn append_container(bytes: &[u8], depth: usize, out: &mut Vec<u8>) -> Result<()> {
    if depth > MAX_DEPTH {
        return Err(FileError::corrupt("a JSON value that is nested too deeply"));
    }
    let mut rest = bytes;
    let word = take_word(&mut rest)?;
    let count = usize::try_from(word & !header::KINDS).map_err(|_| wrong())?;
    match word & header::KINDS {
        header::SCALAR => {
            let entries = take_entries(1, &mut rest)?;
            append_values(entries, &mut rest, depth, out, |_, _| Ok(()))
        }
        header::ARRAY => {
            let entries = take_entries(count, &mut rest)?;
            out.push(b'[');
            append_values(entries, &mut rest, depth, out, |number, out| {
                if number > 0 {
                    out.push(b',');
                }
                Ok(())
            })?;
            out.push(b']');
            Ok(())
        }
        header::OBJECT => append_object(count, rest, depth, out),
        _ => Err(wrong()),
    }
}

fn append_object(count: usize, bytes: &[u8], depth: usize, out: &mut Vec<u8>) -> Result<()> {
    let mut rest = bytes;
    let key_entries = take_entries(count, &mut rest)?;
    let value_entries = take_entries(count, &mut rest)?;
    let mut keys = Vec::with_capacity(count);
    for entry in key_entries.as_chunks().0 {
        keys.push(take_payload(*entry, &mut rest)?.1);
    }
    out.push(b'{');
    append_values(value_entries, &mut rest, depth, out, |number, out| {
        if number > 0 {
            out.push(b',');
        }
        append_string(keys.get(number).copied().unwrap_or_default(), out)?;
        out.push(b':');
        Ok(())
    })?;
    out.push(b'}');
    Ok(())
}

/// Appends the values that some entries describe, each behind what `before` puts there.
fn append_values(
    entries: &[u8],
    payloads: &mut &[u8],
    depth: usize,
    out: &mut Vec<u8>,
    before: impl Fn(usize, &mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    for (number, entry) in entries.as_chunks().0.iter().enumerate() {
        before(number, out)?;
        let (kind, payload) = take_payload(*entry, payloads)?;
        match kind {
            entry::NULL => out.extend_from_slice(b"null"),
            entry::FALSE => out.extend_from_slice(b"false"),
            entry::TRUE => out.extend_from_slice(b"true"),
            entry::STRING => append_string(payload, out)?,
            entry::NUMBER => append_number(payload, out)?,
            entry::CONTAINER => append_container(payload, depth + 1, out)?,
            _ => return Err(wrong()),
        }
    }
    Ok(())
}

fn append_string(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let text = std::str::from_utf8(bytes).map_err(|_| wrong())?;
    append_json(&text, out)
}

fn append_number(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let (&kind, digits) = bytes.split_first().ok_or_else(wrong)?;
    match kind {
        number::ZERO => append_json(&0, out),
        // JSON knows no such numbers.
        number::NAN | number::INFINITY | number::NEGATIVE_INFINITY => {
            out.extend_from_slice(b"null");
            Ok(())
        }
        number::UNSIGNED => append_json(&widen(digits, 0)?, out),
        number::SIGNED => {
            let sign = digits
                .first()
                .map_or(0, |byte| if *byte < 0x80 { 0 } else { 0xFF });
            append_json(&widen(digits, sign)?.cast_signed(), out)
        }
        number::DOUBLE if digits.len() == 8 => append_json(&f64::from_bits(widen(digits, 0)?), out),
        _ => Err(wrong()),
    }
}

/// A big-endian number of 1, 2, 4 or 8 bytes, with `fill` before it.
fn widen(digits: &[u8], fill: u8) -> Result<u64> {
    if !matches!(digits.len(), 1 | 2 | 4 | 8) {
        return Err(wrong());
    }
    let mut bytes = [fill; 8];
    bytes[8 - digits.len()..].copy_from_slice(digits);
    Ok(u64::from_be_bytes(bytes))
}

fn append_json<T: Serialize>(value: &T, out: &mut Vec<u8>) -> Result<()> {
    serde_json::to_writer(out, value).map_err(|error| wrong().with_source(error))
}

fn take_entries<'a>(count: usize, bytes: &mut &'a [u8]) -> Result<&'a [u8]> {
    take(count.checked_mul(4).ok_or_else(wrong)?, bytes)
}

fn take_word(bytes: &mut &[u8]) -> Result<u32> {
    let word = take(4, bytes)?.first_chunk().ok_or_else(wrong)?;
    Ok(u32::from_be_bytes(*word))
}

/// The kind and the payload that an entry describes.
fn take_payload<'a>(entry: [u8; 4], payloads: &mut &'a [u8]) -> Result<(u32, &'a [u8])> {
    let word = u32::from_be_bytes(entry);
    let len = usize::try_from(word & !entry::KINDS).map_err(|_| wrong())?;
    Ok((word & entry::KINDS, take(len, payloads)?))
}

fn take<'a>(len: usize, bytes: &mut &'a [u8]) -> Result<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(len).ok_or_else(wrong)?;
    *bytes = rest;
    Ok(taken)
}

fn wrong() -> FileError {
    FileError::corrupt("a JSON value that cannot be decoded")
}
