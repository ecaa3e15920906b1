//! Symbol tables and their 2,312 bytes.

use std::fmt;
use std::sync::OnceLock;

use super::compress::Matcher;
use super::decompress::Decoder;
use super::{MAX_SYMBOL_BYTES, MAX_SYMBOLS};
use crate::error::{CodecError, Result};

/// Bytes of a stored symbol table, however many symbols it has.
pub const SYMBOL_TABLE_BYTES: usize = 2312;

const WHAT: &str = "FSST symbol table";

/// The upper half of the header word: `FSST` as a little-endian number.
const MAGIC: [u8; 4] = *b"TSSF";

const HEADER_BYTES: usize = 8;

/// One symbol: its text with the first byte lowest, zeros above, and its length in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Symbol {
    pub(super) length: u8,
    pub(super) text: u64,
}

impl Symbol {
    /// The symbol of a single byte.
    pub(super) fn of_byte(byte: u8) -> Self {
        Self {
            length: 1,
            text: byte.into(),
        }
    }

    /// Both texts in a row, if they are not too long together.
    pub(super) fn joined(self, next: Self) -> Option<Self> {
        let length = self.length + next.length;
        (usize::from(length) <= MAX_SYMBOL_BYTES).then(|| Self {
            length,
            text: self.text | next.text << (8 * u32::from(self.length)),
        })
    }

    /// The bits of a word that a symbol of this length covers.
    #[inline(always)]
    pub(super) fn mask(length: u8) -> u64 {
        u64::MAX >> (64 - 8 * u32::from(length.clamp(1, 8)))
    }
}

/// The symbols that strings are compressed with, or the statement that they are not compressed.
///
/// ```text
/// 0            symbols      u8, at most 255
/// 1 .. 3       hints for other encoders, not needed
/// 3            bit 0: whether strings are compressed at all
/// 4 .. 8       54 53 53 46
/// 8            texts        8 bytes each, first byte first, zero padded
/// 8 + 8 n      lengths      1 byte each
/// 8 + 9 n      zeros up to 2312
/// ```
pub struct SymbolTable {
    compressed: bool,
    symbols: Vec<Symbol>,
    pub(super) decoder: Box<Decoder>,
    /// Made when the first value is compressed: most tables are only read with.
    matcher: OnceLock<Matcher>,
}

impl SymbolTable {
    /// A table with which values are stored as they are.
    pub fn verbatim() -> Self {
        Self::new(false, Vec::new())
    }

    /// A table of at most 255 symbols; those after that are dropped.
    pub(super) fn from_symbols(mut symbols: Vec<Symbol>) -> Self {
        symbols.truncate(MAX_SYMBOLS);
        Self::new(true, symbols)
    }

    fn new(compressed: bool, symbols: Vec<Symbol>) -> Self {
        let decoder = Box::new(Decoder::new(&symbols));
        Self {
            compressed,
            symbols,
            decoder,
            matcher: OnceLock::new(),
        }
    }

    /// Reads a stored table.
    ///
    /// # Errors
    ///
    /// If there are not exactly 2,312 bytes, or they are no symbol table.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        if bytes.len() != SYMBOL_TABLE_BYTES {
            let detail = format!("{} bytes instead of {SYMBOL_TABLE_BYTES}", bytes.len());
            return Err(CodecError::invalid(WHAT, detail));
        }
        if bytes[4..8] != MAGIC {
            return Err(CodecError::invalid(WHAT, "the header is none"));
        }
        if bytes[3] & 1 == 0 {
            return Ok(Self::verbatim());
        }
        let n = usize::from(bytes[0]);
        let (texts, rest) = bytes[HEADER_BYTES..].split_at(n * MAX_SYMBOL_BYTES);
        let (texts, _) = texts.as_chunks::<MAX_SYMBOL_BYTES>();
        let symbols = texts.iter().zip(rest).map(|(&text, &length)| {
            if !(1..=8).contains(&length) {
                let detail = format!("a symbol of {length} bytes is not possible");
                return Err(CodecError::invalid(WHAT, detail));
            }
            Ok(Symbol {
                length,
                text: u64::from_le_bytes(text) & Symbol::mask(length),
            })
        });
        Ok(Self::new(true, symbols.collect::<Result<_>>()?))
    }

    /// The table as it is stored, 2,312 bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(SYMBOL_TABLE_BYTES);
        // There are at most 255 symbols.
        let n = u8::try_from(self.symbols.len()).unwrap_or(u8::MAX);
        bytes.extend([n, 0, 0, u8::from(self.compressed)]);
        bytes.extend(MAGIC);
        bytes.extend(
            self.symbols
                .iter()
                .flat_map(|symbol| symbol.text.to_le_bytes()),
        );
        bytes.extend(self.symbols.iter().map(|symbol| symbol.length));
        bytes.resize(SYMBOL_TABLE_BYTES, 0);
        bytes
    }

    /// Whether values are compressed; if not, they are stored as they are.
    pub fn is_compressed(&self) -> bool {
        self.compressed
    }

    /// How values are compressed with this table; `None` if they are not.
    pub(super) fn matcher(&self) -> Option<&Matcher> {
        self.compressed
            .then(|| self.matcher.get_or_init(|| Matcher::new(&self.symbols)))
    }
}

impl Clone for SymbolTable {
    fn clone(&self) -> Self {
        Self::new(self.compressed, self.symbols.clone())
    }
}

impl PartialEq for SymbolTable {
    fn eq(&self, other: &Self) -> bool {
        (self.compressed, &self.symbols) == (other.compressed, &other.symbols)
    }
}

impl Eq for SymbolTable {}

impl fmt::Debug for SymbolTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SymbolTable")
            .field("compressed", &self.compressed)
            .field("symbols", &self.symbols.len())
            .finish_non_exhaustive()
    }
}
