//! Validity bitmaps that grow, and cost nothing until the first null.

use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};

const WORD_BITS: usize = 64;

/// A growing bitmap, kept as a count until it holds its first zero.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Bitmap {
    len: usize,
    /// Bits from 0 to `len`, or empty while all of them are ones.
    words: Vec<u64>,
}

impl Bitmap {
    /// How many bits there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether any bit is a zero.
    pub(crate) fn has_zeros(&self) -> bool {
        !self.words.is_empty()
    }

    /// Appends `count` ones.
    pub(crate) fn push_ones(&mut self, count: usize) {
        if self.words.is_empty() {
            self.len += count;
        } else {
            self.push_many(count, u64::MAX);
        }
    }

    /// Appends `count` zeros.
    pub(crate) fn push_zeros(&mut self, count: usize) {
        if count > 0 {
            self.materialise();
            self.push_many(count, 0);
        }
    }

    /// Appends one bit for each item: whether `is_one` says so.
    pub(crate) fn push_each<T: Copy>(&mut self, items: &[T], is_one: impl Fn(T) -> bool) {
        for chunk in items.chunks(WORD_BITS) {
            let mut word = 0;
            for (bit, &item) in chunk.iter().enumerate() {
                word |= u64::from(is_one(item)) << bit;
            }
            self.push_word(word, chunk.len());
        }
    }

    /// Appends `count` bits of `bits`, from bit `start` on. The caller has checked that they exist.
    pub(crate) fn push_bits(&mut self, bits: &[u8], start: usize, count: usize) {
        let (mut at, end) = (start, start + count);
        while at < end {
            let step = WORD_BITS.min(end - at);
            self.push_word(word_at(bits, at), step);
            at += step;
        }
    }

    /// Appends the low `count` bits of `word`; `count` is at most 64.
    pub(crate) fn push_word(&mut self, word: u64, count: usize) {
        let word = word & low_bits(count);
        if self.words.is_empty() {
            if word == low_bits(count) {
                self.len += count;
                return;
            }
            self.materialise();
        }
        let used = self.len % WORD_BITS;
        if used == 0 {
            self.words.push(word);
        } else {
            if let Some(last) = self.words.last_mut() {
                *last |= word << used;
            }
            if used + count > WORD_BITS {
                self.words.push(word >> (WORD_BITS - used));
            }
        }
        self.len += count;
    }

    /// The bits as a null buffer, or nothing when all of them are ones.
    pub(crate) fn into_nulls(self) -> Option<NullBuffer> {
        (!self.words.is_empty()).then(|| NullBuffer::new(self.into_bits()))
    }

    /// The bits.
    pub(crate) fn into_bits(mut self) -> BooleanBuffer {
        self.materialise();
        let len = self.len;
        #[cfg(target_endian = "big")]
        self.words.iter_mut().for_each(|word| *word = word.to_le());
        BooleanBuffer::new(Buffer::from_vec(self.words), 0, len)
    }

    fn push_many(&mut self, count: usize, word: u64) {
        let mut left = count;
        while left > 0 {
            let step = left.min(WORD_BITS);
            self.push_word(word, step);
            left -= step;
        }
    }

    fn materialise(&mut self) {
        if self.words.is_empty() {
            self.words.resize(self.len / WORD_BITS, u64::MAX);
            if !self.len.is_multiple_of(WORD_BITS) {
                self.words.push(low_bits(self.len % WORD_BITS));
            }
        }
    }
}

/// A word whose low `count` bits are ones.
fn low_bits(count: usize) -> u64 {
    if count >= WORD_BITS {
        u64::MAX
    } else {
        (1 << count) - 1
    }
}

/// The 64 bits of `bits` from bit `at` on; bits past the end are zero.
fn word_at(bits: &[u8], at: usize) -> u64 {
    let (byte, shift) = (at / 8, at % 8);
    let tail = bits.get(byte..).unwrap_or_default();
    if let Some(bytes) = tail.first_chunk::<9>() {
        let [first @ .., last] = *bytes;
        return shifted(u64::from_le_bytes(first), last, shift);
    }
    let mut bytes = [0; 9];
    for (to, from) in bytes.iter_mut().zip(tail) {
        *to = *from;
    }
    let [first @ .., last] = bytes;
    shifted(u64::from_le_bytes(first), last, shift)
}

fn shifted(low: u64, high: u8, shift: usize) -> u64 {
    if shift == 0 {
        low
    } else {
        (low >> shift) | (u64::from(high) << (WORD_BITS - shift))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bits_of(bitmap: Bitmap) -> Vec<bool> {
        bitmap.into_bits().iter().collect()
    }

    #[test]
    fn no_null_costs_no_memory() {
        let mut bitmap = Bitmap::default();
        bitmap.push_ones(1_000_000);
        bitmap.push_word(u64::MAX, 64);
        assert_eq!(bitmap.words.capacity(), 0);
        assert_eq!(bitmap.len(), 1_000_064);
        assert!(bitmap.into_nulls().is_none());
    }

    proptest! {
        #[test]
        fn appending_in_pieces_equals_appending_bit_by_bit(
            pieces in prop::collection::vec(
                (0..4u8, prop::collection::vec(any::<bool>(), 0..200)), 0..8)
        ) {
            let mut bitmap = Bitmap::default();
            let mut expected = Vec::new();
            for (kind, bits) in pieces {
                match kind {
                    0 => { bitmap.push_ones(bits.len()); expected.extend(bits.iter().map(|_| true)); }
                    1 => { bitmap.push_zeros(bits.len()); expected.extend(bits.iter().map(|_| false)); }
                    2 => { bitmap.push_each(&bits, |bit| bit); expected.extend(&bits); }
                    _ => {
                        let packed: BooleanBuffer = bits.iter().copied().collect();
                        let skip = bits.len() / 3;
                        bitmap.push_bits(packed.values(), skip, bits.len() - skip);
                        expected.extend(&bits[skip..]);
                    }
                }
                prop_assert_eq!(bitmap.len(), expected.len());
            }
            prop_assert_eq!(bits_of(bitmap), expected);
        }
    }
}
