use proptest::prelude::*;

use super::*;

/// The layout as the format defines it, bit by bit.
fn pack_naively<T: Lane>(width: u32, values: &[T; BLOCK]) -> Vec<u8> {
    const ORDER: [usize; 8] = [0, 4, 2, 6, 1, 5, 3, 7];
    let mut packed = vec![0u8; 128 * width as usize];
    for row in 0..T::BITS as usize {
        for lane in 0..T::LANES {
            let value: u64 = values[ORDER[row / 8] * 16 + (row % 8) * 128 + lane].into();
            for bit in 0..width as usize {
                let at = row * width as usize + bit;
                let word = at / T::BITS as usize * T::LANES + lane;
                let target = word * T::BITS as usize + at % T::BITS as usize;
                packed[target / 8] |= u8::from(value >> bit & 1 == 1) << (target % 8);
            }
        }
    }
    packed
}

/// A value of at most `width` bits that depends on `index` in no simple way.
fn sample<T: Lane + TryFrom<u64>>(width: u32, index: u64) -> T {
    let mixed = (index.wrapping_mul(2_654_435_761) >> 7) & u64::low_bits(width);
    T::try_from(mixed).ok().unwrap()
}

fn samples<T: Lane + TryFrom<u64>>(width: u32) -> [T; BLOCK] {
    std::array::from_fn(|index| sample(width, index as u64))
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            if crc & 1 == 1 {
                crc >> 1 ^ 0xEDB8_8320
            } else {
                crc >> 1
            }
        })
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn check_golden<T: Lane + TryFrom<u64>>(width: u32, first: &str, crc: u32) {
    let values = samples::<T>(width);
    let mut packed = Vec::new();
    pack_block(width, &values, &mut packed);
    assert_eq!(packed.len(), 128 * width as usize);
    assert_eq!(hex(&packed[..16]), first, "u{} width {width}", T::BITS);
    assert_eq!(crc32(&packed), crc, "u{} width {width}", T::BITS);
}

#[test]
fn blocks_have_the_bytes_of_the_format() {
    check_golden::<u8>(1, "aa55aaaa55aaaa5555aa5555aa5555aa", 0x2268_841b);
    check_golden::<u8>(3, "88633e1af588ac47633ed1f58863471a", 0xcaff_3d66);
    check_golden::<u8>(7, "8073e6da4dc0b4271b8e0175e85b4fc2", 0x8d9c_698b);
    check_golden::<u16>(1, "aaaa5555aa55aaaa55aaaa55aaaa55aa", 0xaea8_272c);
    check_golden::<u16>(3, "88c6637d3ea21aebf51188c6ac8f4734", 0x0de7_9530);
    check_golden::<u16>(15, "0080f36ee6dddacccd3bc0aab499a708", 0x75b8_4f46);
    check_golden::<u32>(1, "aaaaaaaa555555aaaa555555aaaaaaaa", 0xb4d3_d78f);
    check_golden::<u32>(3, "88c6fa88637d44633ea2b1471aeb231a", 0x9218_097e);
    check_golden::<u32>(31, "00000080f36e3c01e6dd7882da4cb583", 0xd9fd_6734);
    check_golden::<u64>(1, "aaaaaaaaaaaaaaaa555555aa55aa55aa", 0x38e8_6408);
    check_golden::<u64>(3, "88c6fa88c6faac8f637d44637d444734", 0xedd2_a75a);
    check_golden::<u64>(63, "0000000000000080f36e3c0100000000", 0x10f7_e4c7);
}

fn check_all_widths<T: Lane + TryFrom<u64>>() {
    for width in 0..=T::BITS {
        let values = samples::<T>(width);
        let mut packed = vec![0xEE];
        pack_block(width, &values, &mut packed);
        assert_eq!(
            packed[1..],
            pack_naively(width, &values),
            "u{} width {width}",
            T::BITS
        );
        let mut unpacked = [T::ONES; BLOCK];
        // One byte in: nothing is aligned.
        unpack_block(width, &packed[1..], &mut unpacked).unwrap();
        assert_eq!(unpacked, values, "u{} width {width}", T::BITS);

        let mut portable = vec![0; 128 * width as usize];
        portable_pack(width, &values, &mut portable);
        assert_eq!(
            portable,
            packed[1..],
            "u{} width {width}, portable",
            T::BITS
        );
    }
}

/// Packs with the code that serves CPUs without wide registers, for a few widths.
fn portable_pack<T: Lane>(width: u32, values: &[T; BLOCK], packed: &mut [u8]) {
    let mut unpacked = [T::ONES; BLOCK];
    match width {
        1 => rows::pack::<T, 1>(values, packed),
        5 => rows::pack::<T, 5>(values, packed),
        8 => rows::pack::<T, 8>(values, packed),
        _ => return packed.copy_from_slice(&pack_naively(width, values)),
    }
    match width {
        1 => rows::unpack::<T, 1>(packed, &mut unpacked),
        5 => rows::unpack::<T, 5>(packed, &mut unpacked),
        _ => rows::unpack::<T, 8>(packed, &mut unpacked),
    }
    assert_eq!(&unpacked, values);
}

#[test]
fn every_width_agrees_with_the_definition() {
    check_all_widths::<u8>();
    check_all_widths::<u16>();
    check_all_widths::<u32>();
    check_all_widths::<u64>();
}

#[test]
fn bits_above_the_width_do_not_leak_into_neighbours() {
    let mut packed = Vec::new();
    pack_block(3, &[u16::MAX; BLOCK], &mut packed);
    let mut unpacked = [0u16; BLOCK];
    unpack_block(3, &packed, &mut unpacked).unwrap();
    assert_eq!(unpacked, [7; BLOCK]);
}

#[test]
fn tails_are_packed_only_where_that_is_smaller() {
    // Ten of 32 bits: 10 * (1024 - t) < 22 * t from t = 321 on.
    assert_eq!(out_of_line_size::<u32>(10, 320), 320 * 4);
    assert_eq!(out_of_line_size::<u32>(10, 321), 1280);
    assert_eq!(out_of_line_size::<u32>(10, 1024 + 321), 2560);
    assert_eq!(out_of_line_size::<u32>(32, 1500), 1500 * 4);
    assert_eq!(out_of_line_size::<u32>(0, 1500), 0);
}

#[test]
fn both_forms_of_a_tail_are_readable() {
    let values: Vec<u16> = (0..100).collect();
    let mut block = [0u16; BLOCK];
    block[..100].copy_from_slice(&values);
    let mut packed = Vec::new();
    pack_block(7, &block, &mut packed);
    let mut raw = Vec::new();
    encode_out_of_line(7, &values, &mut raw);
    assert_eq!((packed.len(), raw.len()), (896, 200));
    for bytes in [packed, raw] {
        let mut decoded = vec![0; 100];
        decode_out_of_line(7, &bytes, &mut decoded).unwrap();
        assert_eq!(decoded, values);
    }
}

#[test]
fn a_tail_of_ambiguous_length_is_raw() {
    // 64 raw words of 16 bits are as long as a block of width 1.
    let bytes: Vec<u8> = (0..64u16).flat_map(u16::to_le_bytes).collect();
    let mut decoded = vec![0u16; 64];
    decode_out_of_line(1, &bytes, &mut decoded).unwrap();
    assert_eq!(decoded, (0..64).collect::<Vec<u16>>());
}

#[test]
fn impossible_lengths_and_widths_are_errors() {
    let mut out = [0u8; BLOCK];
    assert!(unpack_block(9, &[0; 128 * 9], &mut out).is_err());
    assert!(unpack_block(3, &[0; 128 * 3 - 1], &mut out).is_err());
    assert!(unpack_block(3, &[0; 128 * 3 + 1], &mut out).is_err());
    assert!(unpack_block(3, &[0; 128 * 3], &mut out[1..]).is_err());
    assert!(decode_inline(&[], &mut out[..3]).is_err());
    assert!(decode_inline(&[9], &mut out[..3]).is_err());
    assert!(decode_inline(&[1; 128], &mut out[..3]).is_err());
    assert!(decode_inline(&[0], &mut [0u8; 1025]).is_err());
    assert!(decode_inline(&[1, 0, 0, 1], &mut [0u32; 4]).is_err());
    assert!(decode_out_of_line(1, &[0; 127], &mut [0u8; 1000]).is_err());
    assert!(decode_out_of_line(0, &[0; 5], &mut [0u8; 5]).is_err());
}

fn round_trip<T: Lane>(values: &[T]) {
    let width = width_of(values);
    let mut bytes = Vec::new();
    encode_out_of_line(width, values, &mut bytes);
    assert_eq!(bytes.len(), out_of_line_size::<T>(width, values.len()));
    let mut decoded = vec![T::ONES; values.len()];
    decode_out_of_line(width, &bytes, &mut decoded).unwrap();
    assert_eq!(decoded, values);

    let values = &values[..values.len().min(BLOCK)];
    bytes.clear();
    encode_inline(values, &mut bytes);
    assert_eq!(bytes.len(), T::BYTES + 128 * width_of(values) as usize);
    let mut decoded = vec![T::ONES; values.len()];
    decode_inline(&bytes, &mut decoded).unwrap();
    assert_eq!(decoded, values);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn values_round_trip(values in prop::collection::vec(any::<u64>(), 0..3000), shift in 0u32..64) {
        round_trip(&values.iter().map(|v| v >> shift).collect::<Vec<_>>());
        round_trip(&values.iter().map(|v| u32::low_bits(32) & (*v >> shift & 0xFFFF_FFFF)
            .try_into().unwrap_or(0)).collect::<Vec<u32>>());
        round_trip(&values.iter().map(|v| v.to_le_bytes()[0] >> (shift % 8)).collect::<Vec<u8>>());
        round_trip(&values.iter().map(|v| u16::from(v.to_le_bytes()[0]) << (shift % 9))
            .collect::<Vec<u16>>());
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..2000),
        n in 0usize..2500,
        width in 0u32..70,
    ) {
        let _ = decode_inline(&bytes, &mut vec![0u8; n]);
        let _ = decode_inline(&bytes, &mut vec![0u64; n]);
        let _ = decode_out_of_line(width, &bytes, &mut vec![0u16; n]);
        let _ = decode_out_of_line(width, &bytes, &mut vec![0u32; n]);
        let _ = unpack_block(width, &bytes, &mut vec![0u32; n]);
    }
}
