//! Bitmaps: bit `i` is bit `i % 8` of byte `i / 8`, counted from the least significant one.
//!
//! Positions and lengths are in bits. A range must lie within its bitmap.

/// How many bits it takes to write `value`; none for zero.
pub fn bit_len(value: u64) -> u32 {
    u64::BITS - value.leading_zeros()
}

/// Eight flags as a byte, the first one lowest.
///
/// Flag `i` is bit `8 * i` of the word; the factor adds up copies of the word such that each flag
/// gets to bit `56 + i` of the product once, without carries into others.
#[inline(always)]
pub(crate) fn gather(flags: [u8; 8]) -> u8 {
    const FLAG_TO_TOP_BYTE: u64 = 0x0102_0408_1020_4080;
    u64::from_le_bytes(flags)
        .wrapping_mul(FLAG_TO_TOP_BYTE)
        .to_le_bytes()[7]
}

/// Appends one bit for each of `flags`; the last byte is filled up with zeros.
pub fn pack(flags: &[bool], out: &mut Vec<u8>) {
    let (bytes, rest) = flags.as_chunks::<8>();
    out.extend(bytes.iter().map(|flags| gather(flags.map(u8::from))));
    if !rest.is_empty() {
        out.push(
            rest.iter()
                .rev()
                .fold(0, |byte, &flag| byte << 1 | u8::from(flag)),
        );
    }
}

/// Up to 64 bits from `start` on. Bits after the end of the bitmap, and above `count`, are zero.
#[inline(always)]
fn load(bitmap: &[u8], start: usize, count: usize) -> u64 {
    let bytes = bitmap.get(start / 8..).unwrap_or_default();
    let mut word = [0; 16];
    let have = bytes.len().min(9);
    word[..have].copy_from_slice(&bytes[..have]);
    let bits = (u128::from_le_bytes(word) >> (start % 8)).to_le_bytes();
    let low: [u8; 8] = std::array::from_fn(|index| bits[index]);
    u64::from_le_bytes(low) & mask(count)
}

/// The lowest `count` bits set, at most 64.
fn mask(count: usize) -> u64 {
    match count {
        0 => 0,
        1..64 => u64::MAX >> (64 - count),
        _ => u64::MAX,
    }
}

/// Overwrites the `count` bits, at most 56, from `start` on.
fn store(bitmap: &mut [u8], start: usize, count: usize, bits: u64) {
    let shift = start % 8;
    let (mask, bits) = (mask(count) << shift, (bits & mask(count)) << shift);
    let touched = &mut bitmap[start / 8..(start + count).div_ceil(8)];
    for ((byte, mask), bits) in touched
        .iter_mut()
        .zip(mask.to_le_bytes())
        .zip(bits.to_le_bytes())
    {
        *byte = *byte & !mask | bits;
    }
}

/// Overwrites `length` bits of `target` from `target_start` on with those of `source` from
/// `source_start` on.
///
/// ```
/// let mut target = [0b1000_0001, 0];
/// pennon_codec::bits::copy(&[0b0110_0000], 5, &mut target, 6, 3);
/// assert_eq!(target, [0b1100_0001, 0]);
/// ```
pub fn copy(
    source: &[u8],
    source_start: usize,
    target: &mut [u8],
    target_start: usize,
    length: usize,
) {
    let head = (target_start.wrapping_neg() % 8).min(length);
    if head > 0 {
        store(target, target_start, head, load(source, source_start, head));
    }
    let (source_start, target_start) = (source_start + head, target_start + head);
    let length = length - head;
    let body = &mut target[target_start / 8..][..length / 8];
    copy_bytes(source, source_start, body);
    let tail = length % 8;
    if tail > 0 {
        let done = length - tail;
        store(
            target,
            target_start + done,
            tail,
            load(source, source_start + done, tail),
        );
    }
}

/// Fills whole bytes with the bits from `start` on.
fn copy_bytes(source: &[u8], start: usize, target: &mut [u8]) {
    let (first, shift) = (start / 8, start % 8);
    if shift == 0 {
        target.copy_from_slice(&source[first..][..target.len()]);
        return;
    }
    let source = &source[first..][..=target.len()];
    let (low, _) = source.as_chunks::<8>();
    let (words, rest) = target.as_chunks_mut::<8>();
    // The byte after a word is there: the bits of the target's last byte reach into one more.
    let high = source.iter().skip(8).step_by(8);
    for ((word, &low), &high) in words.iter_mut().zip(low).zip(high) {
        let word_bits = u64::from_le_bytes(low) >> shift | u64::from(high) << (64 - shift);
        *word = word_bits.to_le_bytes();
    }
    let source = &source[words.len() * 8..];
    for (byte, pair) in rest.iter_mut().zip(source.windows(2)) {
        *byte = pair[0] >> shift | pair[1] << (8 - shift);
    }
}

/// How many of the `length` bits from `start` on are set.
pub fn count_ones(bitmap: &[u8], start: usize, length: usize) -> usize {
    let head = (start.wrapping_neg() % 8).min(length);
    let body = &bitmap[(start + head) / 8..][..(length - head) / 8];
    let (words, rest) = body.as_chunks::<8>();
    let tail = (length - head) % 8;
    let words: usize = words
        .iter()
        .map(|&word| ones(u64::from_le_bytes(word)))
        .sum();
    let rest: usize = rest.iter().map(|&byte| ones(u64::from(byte))).sum();
    words + rest + ones(load(bitmap, start, head)) + ones(load(bitmap, start + length - tail, tail))
}

fn ones(bits: u64) -> usize {
    bits.count_ones() as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn unpack(bitmap: &[u8]) -> Vec<bool> {
        (0..bitmap.len() * 8)
            .map(|i| bitmap[i / 8] >> (i % 8) & 1 == 1)
            .collect()
    }

    #[test]
    fn bit_lengths() {
        let lengths = [0, 1, 2, 255, 256, u64::MAX].map(bit_len);
        assert_eq!(lengths, [0, 1, 2, 8, 9, 64]);
    }

    #[test]
    fn gathering_agrees_for_every_byte() {
        for byte in 0..=255u8 {
            assert_eq!(gather(std::array::from_fn(|bit| byte >> bit & 1)), byte);
        }
    }

    proptest! {
        #[test]
        fn packing_keeps_every_flag(flags in prop::collection::vec(any::<bool>(), 0..200)) {
            let mut bitmap = vec![0xFF];
            pack(&flags, &mut bitmap);
            prop_assert_eq!(bitmap.len(), 1 + flags.len().div_ceil(8));
            let mut unpacked = unpack(&bitmap[1..]);
            prop_assert!(unpacked.split_off(flags.len()).iter().all(|&flag| !flag));
            prop_assert_eq!(unpacked, flags);
        }

        #[test]
        fn copying_changes_the_range_and_nothing_else(
            source in prop::collection::vec(any::<u8>(), 60),
            target in prop::collection::vec(any::<u8>(), 60),
            from in 0usize..200,
            to in 0usize..200,
            length in 0usize..=280,
        ) {
            let mut expected = unpack(&target);
            expected[to..to + length].copy_from_slice(&unpack(&source)[from..from + length]);
            // Exactly the bytes that the ranges touch: nothing outside may be needed.
            let source = &source[..(from + length).div_ceil(8)];
            let mut copied = target;
            let end = (to + length).div_ceil(8);
            copy(source, from, &mut copied[..end], to, length);
            prop_assert_eq!(unpack(&copied), expected);
        }

        #[test]
        fn counting_agrees_with_looking(
            bitmap in prop::collection::vec(any::<u8>(), 60),
            start in 0usize..200,
            length in 0usize..=280,
        ) {
            let set = unpack(&bitmap)[start..start + length].iter().filter(|&&bit| bit).count();
            prop_assert_eq!(count_ones(&bitmap[..(start + length).div_ceil(8)], start, length), set);
        }
    }
}
