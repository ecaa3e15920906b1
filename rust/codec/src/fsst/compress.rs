//! From strings to codes.

use super::table::{Symbol, SymbolTable};
use super::{ESCAPE, MAX_SYMBOL_BYTES, MAX_SYMBOLS};

/// Slots for symbols of three bytes and more, many per symbol so that few of them collide.
const SLOTS: usize = 2048;

/// Finds the symbol that a string starts with: the one of three or more bytes that its first three
/// bytes lead to, else one of two bytes, else one of one byte, else none.
///
/// Of the symbols that share a slot only one is used. Training knows that and offers no others.
pub(super) struct Matcher {
    long: Box<[Slot; SLOTS]>,
    /// By the first two bytes, the first one lowest.
    short: Box<[Match; 1 << 16]>,
    /// By the only byte.
    single: Box<[Match; 256]>,
}

/// A symbol of three bytes or more and its code; a length of 0 marks an empty slot.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    text: u64,
    length: u8,
    code: u8,
}

/// How a string goes on: the code to write and how many bytes that covers.
///
/// The escape covers one byte, which has to be written too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Match {
    pub(super) code: u8,
    pub(super) length: u8,
}

const NO_SYMBOL: Match = Match {
    code: ESCAPE,
    length: 1,
};

/// The slot of symbols and strings that start with the first three bytes of `text`.
#[inline(always)]
fn slot(text: u64) -> usize {
    const BITS: u32 = SLOTS.ilog2();
    // A multiplier without structure, whose product has the first three bytes mixed at the top.
    let mixed = (text & 0xFF_FFFF).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - BITS);
    let [low, high, ..] = mixed.to_le_bytes();
    usize::from(u16::from_le_bytes([low, high])) % SLOTS
}

/// Which slots are taken, while symbols are being chosen.
#[derive(Debug)]
pub(super) struct Slots([bool; SLOTS]);

impl Slots {
    /// With no slot taken.
    pub(super) fn new() -> Self {
        Self([false; SLOTS])
    }

    /// Takes the slot that `symbol` needs, if any; false if it is taken already.
    pub(super) fn take(&mut self, symbol: Symbol) -> bool {
        symbol.length < 3 || !std::mem::replace(&mut self.0[slot(symbol.text)], true)
    }
}

/// The first two bytes of a text as a position.
#[inline(always)]
fn pair(text: u64) -> usize {
    let [first, second, ..] = text.to_le_bytes();
    usize::from(u16::from_le_bytes([first, second]))
}

impl Matcher {
    /// A matcher for symbols whose codes are their positions.
    pub(super) fn new(symbols: &[Symbol]) -> Self {
        let mut matcher = Self {
            long: Box::new([Slot::default(); SLOTS]),
            short: Box::new([NO_SYMBOL; 1 << 16]),
            single: Box::new([NO_SYMBOL; 256]),
        };
        let coded = || (0..=u8::MAX).zip(symbols).take(MAX_SYMBOLS);
        for (code, symbol) in coded().filter(|(_, symbol)| symbol.length == 1) {
            let first = pair(symbol.text);
            matcher.single[first] = Match { code, length: 1 };
            for second in 0..256 {
                matcher.short[first | second << 8] = matcher.single[first];
            }
        }
        for (code, symbol) in coded() {
            match symbol.length {
                1 => {}
                2 => matcher.short[pair(symbol.text)] = Match { code, length: 2 },
                _ => matcher.add_long(code, *symbol),
            }
        }
        matcher
    }

    /// Adds a symbol of three bytes or more unless a longer one has its slot.
    fn add_long(&mut self, code: u8, Symbol { length, text }: Symbol) {
        let slot = &mut self.long[slot(text)];
        if slot.length < length {
            *slot = Slot { text, length, code };
        }
    }

    /// What a string of at least 8 bytes that starts with `word` starts with.
    #[inline(always)]
    pub(super) fn find(&self, word: u64) -> Match {
        let slot = self.long[slot(word)];
        if slot.length != 0 && (word ^ slot.text) & Symbol::mask(slot.length) == 0 {
            return Match {
                code: slot.code,
                length: slot.length,
            };
        }
        self.short[pair(word)]
    }

    /// What a string of fewer than 8 bytes, but not none, starts with.
    pub(super) fn find_at_end(&self, rest: &[u8]) -> Match {
        let found = self.find(load(rest));
        if usize::from(found.length) <= rest.len() {
            return found;
        }
        // A symbol with zeros in it matched the zeros after the end.
        match rest {
            [byte] => self.single[usize::from(*byte)],
            _ => self.short[pair(load(rest))],
        }
    }

    /// Writes the codes of `bytes[start..end]` to `out`, which has room for two per byte, and returns
    /// how many there are. What follows the end is looked at, but not matched.
    #[inline(always)]
    fn run(&self, bytes: &[u8], start: usize, end: usize, out: &mut [u8]) -> usize {
        let (mut read, mut written) = (start, 0);
        while read < end {
            let found = match bytes[read..].first_chunk::<MAX_SYMBOL_BYTES>() {
                Some(&word) => self.find(u64::from_le_bytes(word)),
                None => self.find_at_end(&bytes[read..end]),
            };
            let found = if usize::from(found.length) > end - read {
                self.find_at_end(&bytes[read..end])
            } else {
                found
            };
            // The literal is written in any case; without an escape the next code replaces it.
            out[written] = found.code;
            out[written + 1] = bytes[read];
            written += 1 + usize::from(found.code == ESCAPE);
            read += usize::from(found.length);
        }
        written
    }
}

/// Up to eight bytes as a word, with zeros after the last.
#[inline(always)]
pub(super) fn load(bytes: &[u8]) -> u64 {
    let mut word = [0; MAX_SYMBOL_BYTES];
    let length = bytes.len().min(MAX_SYMBOL_BYTES);
    word[..length].copy_from_slice(&bytes[..length]);
    u64::from_le_bytes(word)
}

impl SymbolTable {
    /// Appends the codes of `value`, at most two bytes for each of its bytes.
    pub fn compress(&self, value: &[u8], out: &mut Vec<u8>) {
        let Some(matcher) = self.matcher() else {
            return out.extend_from_slice(value);
        };
        let start = out.len();
        out.resize(start + 2 * value.len(), 0);
        let written = matcher.run(value, 0, value.len(), &mut out[start..]);
        out.truncate(start + written);
    }

    /// Appends the codes of the values that lie between consecutive `offsets` in `bytes`, and where
    /// the codes of each value end in `out` to `ends`.
    ///
    /// # Panics
    ///
    /// If the offsets decrease or leave `bytes`.
    pub fn compress_all(
        &self,
        bytes: &[u8],
        offsets: &[usize],
        out: &mut Vec<u8>,
        ends: &mut Vec<usize>,
    ) {
        let matcher = self.matcher();
        let mut written = out.len();
        for pair in offsets.windows(2) {
            let (start, end) = (pair[0], pair[1]);
            let room = written + 2 * (end - start);
            if out.len() < room {
                out.resize(room.max(2 * out.len()), 0);
            }
            match matcher {
                Some(matcher) => written += matcher.run(bytes, start, end, &mut out[written..]),
                None => {
                    let value = &bytes[start..end];
                    out[written..written + value.len()].copy_from_slice(value);
                    written += value.len();
                }
            }
            ends.push(written);
        }
        out.truncate(written);
    }
}
