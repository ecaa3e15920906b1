use proptest::prelude::*;

use super::table::Symbol;
use super::*;
use crate::error::Result;

/// Decodes byte by byte, as the format defines it.
fn decompress_naively(table: &[u8], codes: &[u8]) -> Option<Vec<u8>> {
    let n = usize::from(table[0]);
    let mut value = Vec::new();
    let mut codes = codes.iter();
    while let Some(&code) = codes.next() {
        if code == ESCAPE {
            value.push(*codes.next()?);
            continue;
        }
        let code = usize::from(code);
        if code >= n {
            return None;
        }
        let length = usize::from(table[8 + 8 * n + code]);
        value.extend_from_slice(&table[8 + 8 * code..][..length]);
    }
    Some(value)
}

fn table(symbols: &[&[u8]]) -> SymbolTable {
    let symbols = symbols.iter().map(|text| {
        let mut word = [0; 8];
        word[..text.len()].copy_from_slice(text);
        let length = u8::try_from(text.len()).unwrap();
        Symbol {
            length,
            text: u64::from_le_bytes(word),
        }
    });
    SymbolTable::from_symbols(symbols.collect())
}

fn compressed(table: &SymbolTable, value: &[u8]) -> Vec<u8> {
    let mut codes = Vec::new();
    table.compress(value, &mut codes);
    codes
}

fn decompressed(table: &SymbolTable, codes: &[u8]) -> Result<Vec<u8>> {
    let mut value = Vec::new();
    table.decompress(codes, &mut value).map(|()| value)
}

fn trained(values: &[Vec<u8>]) -> SymbolTable {
    SymbolTable::train(&values.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

#[test]
fn a_table_has_the_bytes_of_the_format() {
    let bytes = table(&[b"abc", b"x", b"hello!!!"]).to_bytes();
    assert_eq!(bytes.len(), SYMBOL_TABLE_BYTES);
    assert_eq!(bytes[..8], [3, 0, 0, 1, 0x54, 0x53, 0x53, 0x46]);
    assert_eq!(
        bytes[8..35],
        *b"abc\0\0\0\0\0x\0\0\0\0\0\0\0hello!!!\x03\x01\x08"
    );
    assert!(bytes[35..].iter().all(|&byte| byte == 0));
    assert_eq!(SymbolTable::parse(&bytes).unwrap().to_bytes(), bytes);
    assert_eq!(
        SymbolTable::verbatim().to_bytes()[..8],
        [0, 0, 0, 0, 0x54, 0x53, 0x53, 0x46]
    );
}

#[test]
fn damaged_tables_are_errors() {
    let bytes = table(&[b"abc", b"x"]).to_bytes();
    let damaged = |at: usize, byte: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = byte;
        SymbolTable::parse(&bytes).is_err()
    };
    assert!(damaged(7, 0x47), "another magic number");
    assert!(damaged(24, 9), "a length above 8");
    assert!(damaged(24, 0), "a length of 0");
    assert!(damaged(0, 3), "a symbol without a length");
    assert!(SymbolTable::parse(&bytes[..2311]).is_err());
    assert!(SymbolTable::parse(&[bytes, vec![0]].concat()).is_err());
}

#[test]
fn the_longest_symbol_wins_and_others_are_escaped() {
    let table = table(&[b"a", b"ab", b"abcdefgh"]);
    let codes = [2, 1, 255, b'c', 255, b'd', 255, b'e', 255, b'f', 255, b'g'];
    assert_eq!(compressed(&table, b"abcdefghabcdefg"), codes);
    assert_eq!(compressed(&table, b"aaba"), [0, 1, 0]);
    assert_eq!(compressed(&table, b""), []);
}

#[test]
fn values_side_by_side_are_compressed_as_they_are_alone() {
    let values: [&[u8]; 5] = [b"abcdef", b"", b"ab", b"cdefgh", b"abcd"];
    let bytes = values.concat();
    let offsets = [0, 6, 6, 8, 14, 18];
    for table in [
        table(&[b"a", b"ab", b"abcdefgh", b"cdef"]),
        SymbolTable::verbatim(),
    ] {
        let (mut out, mut ends) = (b"..".to_vec(), Vec::new());
        table.compress_all(&bytes, &offsets, &mut out, &mut ends);
        let mut alone = b"..".to_vec();
        let mut alone_ends = Vec::new();
        for value in values {
            table.compress(value, &mut alone);
            alone_ends.push(alone.len());
        }
        assert_eq!((out, ends), (alone, alone_ends));
    }
}

#[test]
fn symbols_with_zeros_do_not_reach_beyond_the_end() {
    let zeros = table(&[b"a\0\0\0", b"a\0", b"a", b"b\0"]);
    assert_eq!(compressed(&zeros, b"a"), [2]);
    assert_eq!(compressed(&zeros, b"a\0"), [1]);
    assert_eq!(compressed(&zeros, b"a\0\0"), [1, 255, 0]);
    assert_eq!(compressed(&zeros, b"a\0\0\0"), [0]);
    assert_eq!(compressed(&zeros, b"b"), [255, b'b']);
}

#[test]
fn unknown_codes_and_trailing_escapes_are_errors() {
    let table = table(&[b"abc", b"x"]);
    assert_eq!(decompressed(&table, &[0, 255, 9, 1]).unwrap(), b"abc\x09x");
    assert!(decompressed(&table, &[2]).is_err());
    assert!(decompressed(&table, &[0, 0, 0, 0, 254]).is_err());
    assert!(decompressed(&table, &[0, 255]).is_err());
    assert!(decompressed(&table, &[0, 0, 0, 0, 255]).is_err());
}

#[test]
fn an_escape_does_not_reach_into_the_next_value() {
    let table = table(&[b"abc", b"x"]);
    let (mut out, mut ends) = (b"..".to_vec(), Vec::<i32>::new());
    let codes = [0, 255, 1, 1, 1];
    table
        .decompress_all(&codes, [1, 1, 3, 5].into_iter(), &mut out, &mut ends)
        .unwrap();
    assert_eq!(
        (out.as_slice(), ends.as_slice()),
        (&b"..abc\x01xx"[..], &[5, 5, 6, 8][..])
    );
    for ends_of_codes in [vec![1, 2, 5], vec![3, 1], vec![1, 6]] {
        let failed = table.decompress_all(&codes, ends_of_codes.into_iter(), &mut out, &mut ends);
        assert!(failed.is_err());
        assert_eq!((out.len(), ends.len()), (8, 4), "nothing is appended");
    }
}

#[test]
fn verbatim_tables_copy() {
    let table = trained(&[]);
    assert!(!table.is_compressed());
    assert_eq!(compressed(&table, b"\xFFabc"), b"\xFFabc");
    assert_eq!(decompressed(&table, b"\xFFabc").unwrap(), b"\xFFabc");
    let (mut out, mut ends) = (Vec::new(), Vec::<i64>::new());
    table
        .decompress_all(b"abcd", [1, 3].into_iter(), &mut out, &mut ends)
        .unwrap();
    assert_eq!(
        (out.as_slice(), ends.as_slice()),
        (&b"abc"[..], &[1, 3][..])
    );
    assert!(
        table
            .decompress_all(b"abcd", [5].into_iter(), &mut out, &mut ends)
            .is_err()
    );
}

#[test]
fn training_is_deterministic_and_pays() {
    let words = [
        "carefully",
        "final",
        "deposits",
        "sleep",
        "quickly",
        "among",
        "the",
        "regular",
    ];
    let values: Vec<Vec<u8>> = (0..5000usize)
        .map(|i| {
            let word = |k: usize| words[(i.wrapping_mul(2_654_435_761) >> (3 * k)) % 8];
            format!("{} {} {} {i}", word(1), word(2), word(3)).into_bytes()
        })
        .collect();
    let table = trained(&values);
    assert_eq!(table, trained(&values));
    let plain: usize = values.iter().map(Vec::len).sum();
    let packed: usize = values
        .iter()
        .map(|value| compressed(&table, value).len())
        .sum();
    assert!(packed * 3 < plain, "{plain} bytes became {packed}");
    for value in &values {
        assert_eq!(
            decompressed(&table, &compressed(&table, value)).unwrap(),
            *value
        );
    }
}

#[test]
fn training_looks_at_long_and_at_empty_strings() {
    let long = b"all work and no play makes jack a dull boy. ".repeat(20_000);
    let mut samples: Vec<&[u8]> = vec![b""; 500];
    samples.push(&long);
    let table = SymbolTable::train(&samples);
    assert!(compressed(&table, &long).len() * 4 < long.len());
    assert!(!SymbolTable::train(&[b"".as_slice(); 1000]).is_compressed());
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    let letters = prop::collection::vec(prop::sample::select(b"abc\0\xFF".as_slice()), 0..40);
    prop_oneof![4 => letters, 1 => prop::collection::vec(any::<u8>(), 0..40)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn values_round_trip(values in prop::collection::vec(text(), 0..150)) {
        let table = trained(&values);
        let bytes = table.to_bytes();
        let parsed = SymbolTable::parse(&bytes).unwrap();
        prop_assert_eq!(&parsed, &table);
        let (mut codes, mut ends) = (Vec::new(), Vec::new());
        for value in &values {
            let start = codes.len();
            table.compress(value, &mut codes);
            ends.push(codes.len());
            prop_assert!(codes.len() - start <= 2 * value.len());
            if table.is_compressed() {
                let decoded = decompress_naively(&bytes, &codes[start..]);
                prop_assert_eq!(decoded.as_ref(), Some(value));
            }
        }
        let (mut out, mut out_ends) = (vec![1], vec![1i32]);
        parsed.decompress_all(&codes, ends.iter().copied(), &mut out, &mut out_ends).unwrap();
        prop_assert_eq!(&out[1..], values.concat());
        let lengths = out_ends.windows(2).map(|pair| (pair[1] - pair[0]).unsigned_abs() as usize);
        prop_assert!(lengths.eq(values.iter().map(Vec::len)));
    }

    #[test]
    fn arbitrary_codes_decode_as_defined_or_fail(
        lengths in prop::collection::vec(1u8..=8, 0..=255),
        codes in prop::collection::vec(prop_oneof![Just(255u8), 0u8..4, any::<u8>()], 0..300),
        cut in any::<prop::sample::Index>(),
    ) {
        let n = lengths.len();
        let mut bytes = vec![u8::try_from(n).unwrap(), 1, 2, 1, 0x54, 0x53, 0x53, 0x46];
        bytes.extend((0..n * 8).map(|at| at.to_le_bytes()[0]));
        bytes.extend(&lengths);
        bytes.resize(SYMBOL_TABLE_BYTES, 0);
        let table = SymbolTable::parse(&bytes).unwrap();
        let expected = decompress_naively(&bytes, &codes);
        prop_assert_eq!(decompressed(&table, &codes).ok(), expected);

        let at = cut.index(codes.len() + 1);
        let parts = [&codes[..at], &codes[at..]].map(|part| decompress_naively(&bytes, part));
        let (mut out, mut ends) = (Vec::new(), Vec::<i64>::new());
        let all = [at, codes.len()].into_iter();
        let done = table.decompress_all(&codes, all, &mut out, &mut ends);
        let [Some(first), Some(second)] = parts else {
            prop_assert!(done.is_err() && out.is_empty());
            return Ok(());
        };
        prop_assert!(done.is_ok());
        prop_assert_eq!(out, [first, second].concat());
    }

    #[test]
    fn arbitrary_tables_never_panic(
        mut bytes in prop::collection::vec(any::<u8>(), SYMBOL_TABLE_BYTES),
        codes in prop::collection::vec(any::<u8>(), 0..50),
    ) {
        bytes[4..8].copy_from_slice(b"TSSF");
        for sane in [false, true] {
            if sane {
                bytes[3] = 1;
                for length in &mut bytes[8..] {
                    *length = 1 + *length % 8;
                }
            }
            if let Ok(table) = SymbolTable::parse(&bytes) {
                let _ = decompressed(&table, &codes);
                let packed = compressed(&table, &codes);
                prop_assert_eq!(decompressed(&table, &packed).unwrap(), codes.clone());
            }
        }
    }
}
