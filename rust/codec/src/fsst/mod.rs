//! FSST: short strings by a table of up to 255 frequent substrings.
//!
//! A symbol is 1 to 8 bytes long and stands for itself as one code byte; a byte that no symbol covers
//! is written after the code 255. Every value is coded on its own, so any of them can be read
//! without the others. The method was published by Boncz, Neumann and Leis, "FSST: Fast Random Access
//! String Compression", VLDB 2020.
//!
//! ```
//! use pennon_codec::fsst::SymbolTable;
//!
//! let urls: Vec<String> = (0..1000).map(|n| format!("https://example.org/{n}")).collect();
//! let samples: Vec<&[u8]> = urls.iter().map(|url| url.as_bytes()).collect();
//! let table = SymbolTable::train(&samples);
//!
//! let mut codes = Vec::new();
//! table.compress(b"https://example.org/42", &mut codes);
//! assert!(codes.len() < 8);
//!
//! let mut value = Vec::new();
//! SymbolTable::parse(&table.to_bytes())?.decompress(&codes, &mut value)?;
//! assert_eq!(value, b"https://example.org/42");
//! # Ok::<(), pennon_codec::CodecError>(())
//! ```

mod compress;
mod cursor;
mod decompress;
mod table;
#[cfg(test)]
mod tests;
mod train;

pub use table::{SYMBOL_TABLE_BYTES, SymbolTable};

/// The code that says that the next byte is meant literally.
const ESCAPE: u8 = 255;

/// The most symbols there can be, one for each other code.
const MAX_SYMBOLS: usize = 255;

/// The bytes of the longest symbol.
const MAX_SYMBOL_BYTES: usize = 8;
