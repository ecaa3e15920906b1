//! JSON columns: text in memory, a binary form in the file.
//!
//! ```text
//! container = header, entries, payloads
//! header    = kind in the top 3 bits (array, object, scalar), count in the others
//! entry     = kind in the top 4 bits, bytes of the payload in the others
//! ```
//!
//! All words are big-endian. An object has its keys' entries before its values', and its keys are
//! in the order of their bytes; a scalar is a container of one entry.

mod decode;
mod encode;

pub(crate) use decode::to_text;
pub(crate) use encode::to_binary;

/// The kinds of container, as the top bits of a header.
mod header {
    pub(super) const ARRAY: u32 = 0x8000_0000;
    pub(super) const OBJECT: u32 = 0x4000_0000;
    pub(super) const SCALAR: u32 = 0x2000_0000;
    pub(super) const KINDS: u32 = 0xE000_0000;
}

/// The kinds of value, as the top bits of an entry.
mod entry {
    pub(super) const NULL: u32 = 0x0000_0000;
    pub(super) const STRING: u32 = 0x1000_0000;
    pub(super) const NUMBER: u32 = 0x2000_0000;
    pub(super) const FALSE: u32 = 0x3000_0000;
    pub(super) const TRUE: u32 = 0x4000_0000;
    pub(super) const CONTAINER: u32 = 0x5000_0000;
    pub(super) const KINDS: u32 = 0xF000_0000;
}

/// The kinds of number, as the first byte of its payload.
mod number {
    pub(super) const ZERO: u8 = 0x00;
    pub(super) const NAN: u8 = 0x10;
    pub(super) const INFINITY: u8 = 0x20;
    pub(super) const NEGATIVE_INFINITY: u8 = 0x30;
    pub(super) const SIGNED: u8 = 0x40;
    pub(super) const UNSIGNED: u8 = 0x50;
    pub(super) const DOUBLE: u8 = 0x60;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn there_and_back(text: &str) -> String {
        let mut binary = Vec::new();
        to_binary(text, &mut binary).unwrap();
        let mut out = Vec::new();
        to_text(&binary, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn bytes_are_those_of_the_format() {
        let cases = [
            ("null", "2000000000000000"),
            ("{\"a\":1}", "400000011000000120000002615001"),
            ("0", "200000002000000100"),
            ("-1", "200000002000000240ff"),
            ("0.1", "2000000020000009603fb999999999999a"),
            (
                "[1,2.5,\"x\"]",
                "80000003200000022000000910000001500160400400000000000078",
            ),
            (
                "{\"b\":{\"c\":[]}}",
                "400000011000000150000011624000000110000001500000046380000000",
            ),
        ];
        for (text, expected) in cases {
            let mut binary = Vec::new();
            to_binary(text, &mut binary).unwrap();
            assert_eq!(hex(&binary), expected, "{text}");
            assert_eq!(there_and_back(text), text);
        }
    }

    #[test]
    fn text_becomes_compact_and_keys_sorted() {
        let cases = [
            ("  [ 1 , 2 ]  ", "[1,2]"),
            ("{\"b\":2.0,\"a\":true}", "{\"a\":true,\"b\":2.0}"),
            ("18446744073709551615", "18446744073709551615"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("\"\\u0000\\n\\u20ac\"", "\"\\u0000\\n€\""),
        ];
        for (text, expected) in cases {
            assert_eq!(there_and_back(text), expected);
        }
    }

    #[test]
    fn text_that_is_no_json_is_refused() {
        for text in ["", "{", "nope", "1 2", "{\"k\":1,\"k\":2}"] {
            assert!(to_binary(text, &mut Vec::new()).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_text_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let mut out = Vec::new();
            if to_text(&bytes, &mut out).is_ok() {
                prop_assert!(String::from_utf8(out).is_ok());
            }
        }

        #[test]
        fn containers_of_any_bytes_are_text_or_an_error(
            kind in 2..5_u8, count in 0..4_u8, entries in prop::collection::vec((0..6_u8, 0..9_u8), 0..5),
            rest in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            let mut bytes = vec![kind << 5, 0, 0, count];
            for (kind, length) in entries {
                bytes.extend([kind << 4, 0, 0, length]);
            }
            bytes.extend(rest);
            let mut out = Vec::new();
            if to_text(&bytes, &mut out).is_ok() {
                prop_assert!(serde_json::from_slice::<serde_json::Value>(&out).is_ok());
            }
        }
    }
}
