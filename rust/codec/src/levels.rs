//! Questions about repetition and definition levels, answered many at a time.

use crate::bits;

/// Levels whose count fits into 16 bits, so that counting needs no wider registers than the levels.
const COUNTED_AT_ONCE: usize = 32 * 1024;

/// The highest of `levels`; 0 if there are none.
pub fn max(levels: &[u16]) -> u16 {
    levels.iter().fold(0, |max, &level| max.max(level))
}

/// How many of `levels` are `level` or lower.
pub fn count_at_most(levels: &[u16], level: u16) -> usize {
    let counts = levels.chunks(COUNTED_AT_ONCE).map(|levels| {
        let count: u16 = levels.iter().map(|&other| u16::from(other <= level)).sum();
        usize::from(count)
    });
    counts.sum()
}

/// Overwrites the bits of `validity` from `start` on: one for each of `levels`, set if it is lower
/// than `null`. The bits must lie within the bitmap.
///
/// ```
/// let mut validity = [0];
/// pennon_codec::levels::validity(&[0, 1, 0, 2], 1, &mut validity, 1);
/// assert_eq!(validity, [0b01010]);
/// ```
pub fn validity(levels: &[u16], null: u16, validity: &mut [u8], start: usize) {
    let mut at = start;
    // An even number of words at a time, small enough for the stack.
    for levels in levels.chunks(1024) {
        let mut packed = [0; 128];
        let (bytes, rest) = levels.as_chunks::<8>();
        for (packed, levels) in packed.iter_mut().zip(bytes) {
            *packed = bits::gather(levels.map(|level| u8::from(level < null)));
        }
        if !rest.is_empty() {
            let mut flags = [0; 8];
            for (flag, &level) in flags.iter_mut().zip(rest) {
                *flag = u8::from(level < null);
            }
            packed[bytes.len()] = bits::gather(flags);
        }
        bits::copy(&packed, 0, validity, at, levels.len());
        at += levels.len();
    }
}

/// Appends the positions of the levels that are `level` or higher, in order.
///
/// Positions are 32 bits wide, enough for any page.
pub fn positions_at_least(levels: &[u16], level: u16, positions: &mut Vec<u32>) {
    // Every position is written, and one that does not count is overwritten by the next.
    let mut found = positions.len();
    positions.resize(found + levels.len(), 0);
    let mut position = 0u32;
    for &other in levels {
        positions[found] = position;
        found += usize::from(other >= level);
        position = position.wrapping_add(1);
    }
    positions.truncate(found);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn no_levels_have_no_answers() {
        assert_eq!(max(&[]), 0);
        assert_eq!(count_at_most(&[], 3), 0);
        validity(&[], 1, &mut [], 0);
    }

    #[test]
    fn counting_does_not_overflow() {
        assert_eq!(count_at_most(&vec![2; 200_000], 2), 200_000);
        assert_eq!(count_at_most(&vec![3; 200_000], 2), 0);
    }

    proptest! {
        #[test]
        fn answers_agree_with_looking(
            levels in prop::collection::vec(0u16..6, 0..2500),
            level in 0u16..7,
            start in 0usize..20,
        ) {
            prop_assert_eq!(max(&levels), levels.iter().copied().max().unwrap_or(0));
            prop_assert_eq!(
                count_at_most(&levels, level),
                levels.iter().filter(|&&other| other <= level).count()
            );

            let mut bitmap = vec![0xA5; (start + levels.len()).div_ceil(8)];
            validity(&levels, level, &mut bitmap, start);
            for (at, &other) in levels.iter().enumerate() {
                let bit = bitmap[(start + at) / 8] >> ((start + at) % 8) & 1;
                prop_assert_eq!(bit == 1, other < level);
            }

            let mut positions = vec![77];
            positions_at_least(&levels, level, &mut positions);
            let expected: Vec<usize> =
                (0..levels.len()).filter(|&at| levels[at] >= level).collect();
            prop_assert_eq!(positions[0], 77);
            prop_assert!(positions[1..].iter().map(|&at| at as usize).eq(expected));
        }
    }
}
