//! Whatever bytes a decoder is given: an error or values, never a panic.

use pennon_codec::bitpack::{self, Lane};
use pennon_codec::fsst::SymbolTable;
use pennon_codec::general::{self, Scheme};
use pennon_codec::variable::{OffsetWidth, Values};
use pennon_codec::{byte_stream_split, rle};
use proptest::prelude::*;

fn integers<T: Lane>(bytes: &[u8], count: usize, width: u32) {
    let mut out = vec![T::ZERO; count];
    let _ = bitpack::decode_inline(bytes, &mut out);
    let _ = bitpack::decode_out_of_line(width, bytes, &mut out);
    let (values, lengths) = bytes.split_at(bytes.len() / (T::BYTES + 1) * T::BYTES);
    let _ = rle::decode(values, lengths, &mut out);
}

proptest! {
    #[test]
    fn no_decoder_panics(
        bytes in prop::collection::vec(any::<u8>(), 0..2_500),
        count in 0usize..1_200,
        width in 0u32..70,
    ) {
        integers::<u8>(&bytes, count, width);
        integers::<u16>(&bytes, count, width);
        integers::<u32>(&bytes, count, width);
        integers::<u64>(&bytes, count, width);
        let _ = byte_stream_split::decode(count % 9, &bytes, &mut vec![0; bytes.len()]);
        for values in [
            Values::from_chunk(&bytes, count, OffsetWidth::W32),
            Values::from_chunk(&bytes, count, OffsetWidth::W64),
            Values::from_block(&bytes, count),
        ].into_iter().flatten() {
            let _ = values.append::<i32>(0..count, &mut Vec::new(), &mut Vec::new());
        }
        for scheme in [Scheme::Lz4, Scheme::Zstd { level: None }] {
            let mut out = Vec::new();
            let _ = general::decompress(scheme, &bytes, 1 << 16, &mut out);
            prop_assert!(out.len() <= 1 << 16);
        }
        if let Ok(table) = SymbolTable::parse(&bytes) {
            let _ = table.decompress(&bytes, &mut Vec::new());
        }
    }
}
