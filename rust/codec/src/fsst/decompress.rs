//! From codes to strings.

use super::cursor::{Cursor, STEP};
use super::table::{Symbol, SymbolTable};
use super::{ESCAPE, MAX_SYMBOLS};
use crate::error::{CodecError, Result};
use crate::variable::{Offset, check_offsets};

const WHAT: &str = "FSST codes";

/// Output that is expected for each code, as a first guess.
const USUAL_EXPANSION: usize = 3;

/// The symbols by code, with entries for codes that have none, so that every byte can be looked up.
pub(super) struct Decoder {
    texts: [u64; 256],
    lengths: [u8; 256],
    symbols: usize,
}

impl Decoder {
    pub(super) fn new(symbols: &[Symbol]) -> Self {
        let (mut texts, mut lengths) = ([0; 256], [0; 256]);
        for (code, symbol) in symbols.iter().enumerate().take(MAX_SYMBOLS) {
            (texts[code], lengths[code]) = (symbol.text, symbol.length);
        }
        Self {
            texts,
            lengths,
            symbols: symbols.len().min(MAX_SYMBOLS),
        }
    }

    /// Whether each of `codes` is a symbol or the escape. Other bytes need not be wrong: they may
    /// be literals.
    fn all_known(&self, codes: &[u8]) -> bool {
        let known = |code: u8| usize::from(code) < self.symbols || code == ESCAPE;
        self.symbols == MAX_SYMBOLS || codes.iter().fold(true, |all, &code| all & known(code))
    }

    /// Appends what one value's codes, `codes[start..end]`, stand for. With `CHECK`, codes without
    /// a symbol are errors; without, the caller knows that there are none.
    ///
    /// Four codes at a time: no code of a value depends on an earlier one unless there is an escape
    /// among the four, in which case those before it come first, then the literal.
    #[inline(always)]
    fn value<const CHECK: bool>(
        &self,
        codes: &[u8],
        start: usize,
        end: usize,
        out: &mut Cursor<'_>,
    ) -> Result<()> {
        let mut at = start;
        while at < end {
            let step = self.load(codes, at);
            let count = escape_position(step).min(end - at);
            if CHECK
                && step[..count]
                    .iter()
                    .any(|&code| usize::from(code) >= self.symbols)
            {
                return Err(CodecError::invalid(WHAT, "a code has no symbol"));
            }
            let texts = step.map(|code| self.texts[usize::from(code)]);
            let lengths = step.map(|code| self.lengths[usize::from(code)]);
            if count == STEP {
                out.push(texts, lengths);
                at += STEP;
                continue;
            }
            // What is not of this value, or not before the escape, is stored with no length.
            let kept = std::array::from_fn(|i| if i < count { lengths[i] } else { 0 });
            out.push(texts, kept);
            at += count;
            if at < end {
                let Some(&literal) = codes[..end].get(at + 1) else {
                    return Err(CodecError::invalid(WHAT, "a value ends with an escape"));
                };
                out.push([literal.into(), 0, 0, 0], [1, 0, 0, 0]);
                at += 2;
            }
        }
        Ok(())
    }

    /// The next four codes, with zeros after the last.
    #[inline(always)]
    fn load(&self, codes: &[u8], at: usize) -> [u8; STEP] {
        match codes[at..].first_chunk::<STEP>() {
            Some(&step) => step,
            None => std::array::from_fn(|i| codes.get(at + i).copied().unwrap_or(0)),
        }
    }
}

/// Where the first escape among four codes is; 4 if there is none.
#[inline(always)]
fn escape_position(codes: [u8; STEP]) -> usize {
    // A byte is 255 exactly if its complement is zero. The lowest zero byte of a word is the lowest
    // that gets its top bit set by borrowing.
    let word = !u32::from_le_bytes(codes);
    let zeros = word.wrapping_sub(0x0101_0101) & !word & 0x8080_8080;
    (zeros.trailing_zeros() / 8) as usize
}

impl SymbolTable {
    /// Appends the value that `codes` stand for.
    ///
    /// # Errors
    ///
    /// If a code has no symbol, or the last one is an escape. Nothing is appended then.
    pub fn decompress(&self, codes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        self.decompress_each(codes, std::iter::once(codes.len()), out, |_| {})
    }

    /// Appends the values that `codes` stand for to `out`, and where each ends there to `out_ends`.
    ///
    /// `ends` says where the codes of each value end; those of the first one start at 0.
    ///
    /// # Errors
    ///
    /// If the ends decrease or leave `codes`, a code has no symbol, a value ends with an escape, or
    /// an end does not fit into `O`. Nothing is appended then.
    pub fn decompress_all<O: Offset>(
        &self,
        codes: &[u8],
        ends: impl Iterator<Item = usize>,
        out: &mut Vec<u8>,
        out_ends: &mut Vec<O>,
    ) -> Result<()> {
        let (start, first) = (out.len(), out_ends.len());
        let done = self
            .decompress_each(codes, ends, out, |end| out_ends.push(O::new(end as u64)))
            // The ends do not decrease, so the last one tells about all of them.
            .and_then(|()| check_offsets::<O>(out.len()));
        if done.is_err() {
            out.truncate(start);
            out_ends.truncate(first);
        }
        done
    }

    /// Appends values and calls `ended` with the length of `out` after each.
    #[inline(always)]
    fn decompress_each(
        &self,
        codes: &[u8],
        ends: impl Iterator<Item = usize>,
        out: &mut Vec<u8>,
        mut ended: impl FnMut(usize),
    ) -> Result<()> {
        if !self.is_compressed() {
            let length = out.len();
            let mut last = 0;
            for end in ends {
                check_end(last, end, codes.len())?;
                ended(length + end);
                last = end;
            }
            out.extend_from_slice(&codes[..last]);
            return Ok(());
        }
        let decoder = &*self.decoder;
        let known = decoder.all_known(codes);
        let mut cursor = Cursor::new(out, codes.len().saturating_mul(USUAL_EXPANSION));
        let mut start = 0;
        for end in ends {
            check_end(start, end, codes.len())?;
            if known {
                decoder.value::<false>(codes, start, end, &mut cursor)?;
            } else {
                decoder.value::<true>(codes, start, end, &mut cursor)?;
            }
            ended(cursor.length());
            start = end;
        }
        cursor.finish();
        Ok(())
    }
}

#[inline(always)]
fn check_end(start: usize, end: usize, available: usize) -> Result<()> {
    if end < start || end > available {
        let detail = format!("a value from {start} to {end} is not within {available} bytes");
        return Err(CodecError::invalid(WHAT, detail));
    }
    Ok(())
}
