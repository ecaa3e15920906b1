//! Byte strings: their ends first, then the bytes that these ask for.

use std::ops::Range;
use std::sync::Arc;

use pennon_codec::fsst::SymbolTable;

use super::encoding::ArrayEncoding;
use super::ends::{Ends, EndsReader};
use super::page::Page;
use super::stream::{Rounds, Stream, Supply};
use crate::read::validity::Bitmap;
use crate::read::values::Variable;
use crate::{FileError, Result};

/// Some strings of a page.
#[derive(Debug)]
pub(super) struct Strings {
    bytes: Stream,
    symbols: Option<Arc<SymbolTable>>,
    state: State,
}

#[derive(Debug)]
enum State {
    Unknown(EndsReader),
    Known(Vec<Ends>),
}

impl Strings {
    /// The strings of `rows`, whose encoding is a binary one, perhaps with symbols.
    pub(super) fn new(
        page: &Arc<Page>,
        encoding: &ArrayEncoding,
        rows: Vec<Range<u64>>,
    ) -> Result<Self> {
        match encoding.without_nulls() {
            ArrayEncoding::Binary {
                ends,
                bytes,
                null_adjustment,
            } => Ok(Self {
                bytes: Stream::new(page, bytes, 8)?,
                symbols: None,
                state: State::Unknown(EndsReader::new(page, ends, *null_adjustment, rows)?),
            }),
            ArrayEncoding::Fsst {
                binary,
                symbol_table,
            } => {
                let inner = Self::new(page, binary, rows)?;
                if inner.symbols.is_some() {
                    return Err(FileError::unsupported("symbols within symbols"));
                }
                let table = SymbolTable::parse(symbol_table)?;
                let symbols = table.is_compressed().then(|| Arc::new(table));
                Ok(Self { symbols, ..inner })
            }
            other => Err(FileError::unsupported(format!(
                "encoding {} for strings",
                other.name()
            ))),
        }
    }

    /// Appends the strings.
    pub(super) fn decode(
        &self,
        supply: &mut Supply,
        out: &mut Variable,
        validity: &mut Bitmap,
    ) -> Result<()> {
        let State::Known(parts) = &self.state else {
            return Err(FileError::corrupt("strings without their ends"));
        };
        let mut parts = parts.iter();
        self.bytes.decode(supply, |run| {
            let Some(part) = parts.next() else {
                return Err(FileError::corrupt("strings without their ends"));
            };
            push_validity(part, validity);
            match &self.symbols {
                Some(symbols) => push_coded(symbols, part, run.bytes, out),
                None => push_plain(part, run.bytes, out),
            }
        })
    }
}

impl Rounds for Strings {
    fn is_ready(&self) -> bool {
        matches!(self.state, State::Known(_)) && self.bytes.is_ready()
    }

    fn round_needs(&self, out: &mut Vec<Range<u64>>) {
        self.bytes.round_needs(out);
        if let State::Unknown(ends) = &self.state {
            if ends.is_ready() {
                ends.needs(out);
            } else {
                ends.round_needs(out);
            }
        }
    }

    fn supply(&mut self, bytes: &mut Supply) -> Result<()> {
        self.bytes.supply(bytes)?;
        if let State::Unknown(ends) = &mut self.state {
            if !ends.is_ready() {
                return ends.supply(bytes);
            }
            let ends = ends.decode(bytes)?;
            let spans = ends.iter().map(|ends| ends.start..ends.end());
            self.bytes.take(spans.collect())?;
            self.state = State::Known(ends);
        }
        Ok(())
    }

    fn needs(&self, out: &mut Vec<Range<u64>>) {
        self.bytes.needs(out);
    }
}

fn push_validity(part: &Ends, validity: &mut Bitmap) {
    if part.has_nulls() {
        validity.push_each(part.nulls(), |is_null| !is_null);
    } else {
        validity.push_ones(part.ends.len());
    }
}

fn push_plain(part: &Ends, bytes: &[u8], out: &mut Variable) -> Result<()> {
    let hidden = |(span, is_null): (Range<u64>, bool)| is_null && !span.is_empty();
    if !part.has_nulls() || !part.rows().any(hidden) {
        return out.push_run(bytes, part.ends.iter().map(|end| end - part.start));
    }
    for (span, is_null) in part.rows() {
        out.push(if is_null {
            &[]
        } else {
            slice(part, bytes, &span)?
        })?;
    }
    Ok(())
}

fn push_coded(symbols: &SymbolTable, part: &Ends, bytes: &[u8], out: &mut Variable) -> Result<()> {
    for (span, is_null) in part.rows() {
        if !is_null {
            symbols.decompress(slice(part, bytes, &span)?, out.data_mut())?;
        }
        out.push_end()?;
    }
    Ok(())
}

/// The bytes of one row.
fn slice<'a>(part: &Ends, bytes: &'a [u8], span: &Range<u64>) -> Result<&'a [u8]> {
    let at = |position: u64| usize::try_from(position - part.start).unwrap_or(usize::MAX);
    bytes
        .get(at(span.start)..at(span.end))
        .ok_or_else(|| FileError::corrupt("a string outside of its buffer"))
}
