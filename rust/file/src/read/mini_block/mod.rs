//! Pages of small values, in chunks of a few KiB that carry their own levels.

mod chunk;
mod decode;
mod table;

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use self::chunk::{Chunk, ChunkHeader, MAX_BUFFERS};
use self::table::{ChunkTable, Pick};
use super::block;
use super::builder::{ColumnBuilder, Scratch};
use super::coding::{self, Coding, FixedCoding};
use super::shape::Shape;
use super::values::{Fixed, Values};
use crate::container::metadata::PageMetadata;
use crate::encoding::Encoding;
use crate::layout::MiniBlock;
use crate::levels::{Levels, Nesting};
use crate::{FileError, Result};

/// A page, with everything that is worth keeping between reads.
#[derive(Debug)]
pub(crate) struct MiniBlockPage {
    nesting: Nesting,
    header: ChunkHeader,
    repetition: Option<Encoding>,
    definition: Option<Encoding>,
    values: ValueCoding,
    table: ChunkTable,
    /// Where in the file the chunks are.
    data: Range<u64>,
}

#[derive(Debug)]
enum ValueCoding {
    Plain(Coding),
    /// Indices of so many bytes, how they are coded, and what they stand for.
    Dictionary(usize, FixedCoding, Arc<Values>),
}

/// What to take of a page for one read.
#[derive(Debug)]
pub(crate) struct MiniBlockPlan {
    picks: Vec<Pick>,
    /// Runs of neighbouring chunks: each is one byte range to read.
    runs: Vec<Range<usize>>,
}

/// The buffers of a page, in the order in which they are stored.
struct Buffers {
    words: Range<u64>,
    data: Range<u64>,
    dictionary: Option<Range<u64>>,
    repetition_index: Option<Range<u64>>,
}

impl Buffers {
    fn of(layout: &MiniBlock, page: &PageMetadata) -> Result<Self> {
        let mut buffers = page.buffers.iter().cloned();
        let mut next = || {
            buffers
                .next()
                .ok_or_else(|| FileError::corrupt("a mini-block page misses buffers"))
        };
        Ok(Self {
            words: next()?,
            data: next()?,
            dictionary: layout.dictionary.as_ref().map(|_| next()).transpose()?,
            repetition_index: (layout.repetition_index_depth > 0).then(next).transpose()?,
        })
    }
}

impl MiniBlockPage {
    /// The byte ranges that [`load`](Self::load) wants.
    pub(crate) fn needs(layout: &MiniBlock, page: &PageMetadata) -> Result<Vec<Range<u64>>> {
        let buffers = Buffers::of(layout, page)?;
        let optional = [buffers.dictionary, buffers.repetition_index];
        Ok([buffers.words]
            .into_iter()
            .chain(optional.into_iter().flatten())
            .collect())
    }

    /// Prepares a page from the byte ranges that it [`needs`](Self::needs).
    pub(crate) fn load(
        layout: &MiniBlock,
        page: &PageMetadata,
        shape: &Shape,
        bytes: &[Bytes],
    ) -> Result<Self> {
        let buffers = Buffers::of(layout, page)?;
        let mut bytes = bytes.iter();
        let mut next = || {
            bytes
                .next()
                .ok_or_else(|| FileError::corrupt("too few bytes were read"))
        };
        let words = next()?;
        let dictionary = buffers.dictionary.is_some().then(&mut next).transpose()?;
        let index = buffers
            .repetition_index
            .is_some()
            .then(&mut next)
            .transpose()?;
        let data_bytes = buffers.data.end - buffers.data.start;
        let mut table =
            ChunkTable::parse(words, layout.large_chunks, layout.num_items, data_bytes)?;
        let nesting = Nesting::new(&layout.layers);
        if nesting.max_repetition > 0 {
            let index = index.map(AsRef::as_ref);
            table = table.with_repetition_index(index, page.rows)?;
        } else if layout.num_items != page.rows {
            return Err(FileError::corrupt(format!(
                "{} values in a page of {} rows",
                layout.num_items, page.rows
            )));
        }
        let values = ValueCoding::of(layout, shape, dictionary)?;
        Ok(Self {
            header: header(layout, &values, &nesting)?,
            nesting,
            repetition: layout.repetition.clone(),
            definition: layout.definition.clone(),
            values,
            table,
            data: buffers.data,
        })
    }

    /// Whether a column with these layers, lists or not from the outside in, can have the page.
    pub(crate) fn fits(&self, layers: &[bool]) -> bool {
        self.nesting.fits(layers)
    }

    /// Bytes that the page takes in memory, roughly.
    pub(crate) fn memory(&self) -> usize {
        let dictionary = match &self.values {
            ValueCoding::Plain(_) => 0,
            ValueCoding::Dictionary(_, _, items) => items.memory(),
        };
        self.table.memory() + dictionary
    }

    /// What to take for some rows of the page. The byte ranges to read are appended to `reads`.
    pub(crate) fn plan(
        &self,
        rows: &[Range<u64>],
        reads: &mut Vec<Range<u64>>,
    ) -> Result<MiniBlockPlan> {
        let mut picks = Vec::new();
        for range in rows {
            self.table.pick(range.clone(), &mut picks)?;
        }
        let mut runs: Vec<Range<usize>> = Vec::new();
        for pick in &picks {
            match runs.last_mut() {
                Some(run) if pick.chunk <= run.end => run.end = pick.chunk + 1,
                _ => runs.push(pick.chunk..pick.chunk + 1),
            }
        }
        reads.extend(runs.iter().map(|run| {
            let start = self.table.bytes(run.start).start;
            let end = self.table.bytes(run.end - 1).end;
            self.data.start + start..self.data.start + end
        }));
        Ok(MiniBlockPlan { picks, runs })
    }

    /// Appends the rows of a plan, given the bytes that it asked for.
    pub(crate) fn decode(
        &self,
        plan: &MiniBlockPlan,
        bytes: &[Bytes],
        out: &mut ColumnBuilder,
        scratch: &mut Scratch,
    ) -> Result<()> {
        scratch.repetition.clear();
        scratch.definition.clear();
        let mut runs = plan.runs.iter().zip(bytes);
        let mut current = runs.next();
        for picks in plan.picks.chunk_by(|a, b| a.chunk == b.chunk) {
            let chunk = picks[0].chunk;
            while current.is_some_and(|(run, _)| chunk >= run.end) {
                current = runs.next();
            }
            let bytes = current.and_then(|(run, bytes)| self.chunk_bytes(chunk, run, bytes));
            let bytes = bytes.ok_or_else(|| FileError::corrupt("too few bytes were read"))?;
            let parsed = Chunk::parse(bytes, self.header)?;
            if self.nesting.max_repetition > 0 {
                self.decode_lists(chunk, &parsed, picks, out, scratch)?;
            } else {
                self.decode_flat(chunk, &parsed, picks, out, scratch)?;
            }
        }
        if self.nesting.max_repetition > 0 {
            let levels = Levels {
                repetition: &scratch.repetition,
                definition: &scratch.definition,
                entries: scratch.repetition.len(),
            };
            out.push_levels(&self.nesting, levels)?;
        }
        Ok(())
    }

    fn chunk_bytes<'a>(
        &self,
        chunk: usize,
        run: &Range<usize>,
        bytes: &'a [u8],
    ) -> Option<&'a [u8]> {
        let base = self.table.bytes(run.start).start;
        let range = self.table.bytes(chunk);
        let start = usize::try_from(range.start - base).ok()?;
        let end = usize::try_from(range.end - base).ok()?;
        bytes.get(start..end)
    }

    fn num_values(&self, chunk: usize) -> Result<usize> {
        usize::try_from(self.table.num_values(chunk))
            .map_err(|_| FileError::corrupt("a chunk of too many values"))
    }

    /// Appends values of a chunk of a page without lists, where every level has its value.
    fn decode_flat(
        &self,
        chunk: usize,
        parsed: &Chunk<'_>,
        picks: &[Pick],
        out: &mut ColumnBuilder,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let count = self.num_values(chunk)?;
        let picks: Vec<Range<usize>> = picks.iter().map(|pick| pick.positions.clone()).collect();
        self.values
            .decode(parsed.buffers(), count, &picks, &mut out.values, scratch)?;
        let definition = &mut scratch.definition;
        definition.clear();
        if let Some(encoding) = &self.definition {
            if parsed.num_levels != count {
                return Err(FileError::corrupt(
                    "a chunk with more levels than values, or fewer",
                ));
            }
            block::decode_levels(encoding, parsed.definition, count, definition)?;
        }
        for pick in picks {
            let entries = pick.len();
            let definition = if definition.is_empty() {
                &[][..]
            } else {
                &definition[pick]
            };
            let levels = Levels {
                repetition: &[],
                definition,
                entries,
            };
            self.nesting.unravel(levels, &mut out.layers)?;
        }
        Ok(())
    }

    /// Appends values of a chunk of a page with lists, and collects their levels.
    fn decode_lists(
        &self,
        chunk: usize,
        parsed: &Chunk<'_>,
        picks: &[Pick],
        out: &mut ColumnBuilder,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let (mut repetition, mut definition) = (Vec::new(), Vec::new());
        let count = parsed.num_levels;
        if let Some(encoding) = &self.repetition {
            block::decode_levels(encoding, parsed.repetition, count, &mut repetition)?;
        }
        if let Some(encoding) = &self.definition {
            block::decode_levels(encoding, parsed.definition, count, &mut definition)?;
        }
        let mut picked = Picked::new(&repetition, &definition, &self.nesting);
        let mut values = Vec::with_capacity(picks.len());
        for pick in picks {
            let (entries, slots) = picked.next(&pick.positions);
            scratch
                .repetition
                .extend_from_slice(&repetition[entries.clone()]);
            if !definition.is_empty() {
                scratch.definition.extend_from_slice(&definition[entries]);
            }
            values.push(slots);
        }
        let (starts, slots) = picked.finish();
        let num_values = self.num_values(chunk)?;
        if slots != num_values || u64::try_from(starts) != Ok(self.table.num_starts(chunk)) {
            return Err(FileError::corrupt(
                "the levels of a chunk contradict the page's indices",
            ));
        }
        self.values.decode(
            parsed.buffers(),
            num_values,
            &values,
            &mut out.values,
            scratch,
        )
    }
}

/// Walks through the levels of a chunk, from one pick to the next.
struct Picked<'a> {
    repetition: &'a [u16],
    definition: &'a [u16],
    max_repetition: u16,
    max_visible: u16,
    entry: usize,
    /// Rows that started before `entry`.
    starts: usize,
    /// Values before `entry`.
    slots: usize,
}

impl<'a> Picked<'a> {
    fn new(repetition: &'a [u16], definition: &'a [u16], nesting: &Nesting) -> Self {
        Self {
            repetition,
            definition,
            max_repetition: nesting.max_repetition,
            max_visible: nesting.max_visible,
            entry: 0,
            starts: 0,
            slots: 0,
        }
    }

    /// The entries and the values of some runs: run 0 is what comes before the first row's start.
    fn next(&mut self, runs: &Range<usize>) -> (Range<usize>, Range<usize>) {
        self.advance(runs.start);
        let (entry, slot) = (self.entry, self.slots);
        self.advance(runs.end);
        (entry..self.entry, slot..self.slots)
    }

    /// How many rows start in the chunk, and how many values it has.
    fn finish(mut self) -> (usize, usize) {
        self.advance(usize::MAX);
        (self.starts, self.slots)
    }

    /// Goes to the first entry of a run.
    fn advance(&mut self, run: usize) {
        if run == 0 {
            return;
        }
        while let Some(&repetition) = self.repetition.get(self.entry) {
            if repetition == self.max_repetition {
                if self.starts + 1 == run {
                    return;
                }
                self.starts += 1;
            }
            let level = self.definition.get(self.entry).copied().unwrap_or(0);
            self.slots += usize::from(level <= self.max_visible);
            self.entry += 1;
        }
    }
}

impl ValueCoding {
    fn of(layout: &MiniBlock, shape: &Shape, dictionary: Option<&Bytes>) -> Result<Self> {
        let (items_shape, is_dictionary) = match shape {
            Shape::Dictionary(_, items) => (items.as_ref(), true),
            other => (other, false),
        };
        match (&layout.dictionary, dictionary) {
            (Some(items), Some(bytes)) => {
                let width = Coding::index_width(&layout.values)?;
                let indices = coding::fixed(&layout.values, width)?;
                let items = block::decode_values(&items.encoding, items_shape, bytes, items.count)?;
                Ok(Self::Dictionary(width, indices, Arc::new(items)))
            }
            _ if is_dictionary => Err(FileError::unsupported(
                "a dictionary column whose page has no dictionary",
            )),
            _ => Ok(Self::Plain(Coding::of(&layout.values, shape)?)),
        }
    }

    fn num_buffers(&self) -> u64 {
        match self {
            Self::Plain(coding) => coding.num_buffers(),
            Self::Dictionary(_, coding, _) => Coding::Fixed(*coding).num_buffers(),
        }
    }

    /// Appends some of the `count` values of a chunk.
    fn decode(
        &self,
        buffers: &[&[u8]],
        count: usize,
        picks: &[Range<usize>],
        out: &mut Values,
        scratch: &mut Scratch,
    ) -> Result<()> {
        match self {
            Self::Plain(coding) => {
                decode::decode(coding, buffers, count, picks, out, &mut scratch.plain)
            }
            Self::Dictionary(width, coding, items) => {
                let mut indices = Fixed::new(*width, picks.iter().map(Range::len).sum());
                let plain = &mut scratch.plain;
                decode::decode_fixed(*coding, buffers, count, picks, &mut indices, plain)?;
                widen_indices(indices.as_bytes(), *width, &mut scratch.indices)?;
                out.push_gathered(items, &scratch.indices)
            }
        }
    }
}

/// Indices of `width` bytes each as 32-bit numbers.
fn widen_indices(bytes: &[u8], width: usize, out: &mut Vec<u32>) -> Result<()> {
    out.clear();
    match width {
        1 => out.extend(bytes.iter().map(|&index| u32::from(index))),
        2 => out.extend(
            bytes
                .as_chunks()
                .0
                .iter()
                .map(|&i| u32::from(u16::from_le_bytes(i))),
        ),
        4 => out.extend(bytes.as_chunks().0.iter().map(|&i| u32::from_le_bytes(i))),
        _ => {
            for &index in bytes.as_chunks().0 {
                let index = u32::try_from(u64::from_le_bytes(index));
                out.push(index.map_err(|_| FileError::corrupt("a dictionary index too large"))?);
            }
        }
    }
    Ok(())
}

fn header(layout: &MiniBlock, values: &ValueCoding, nesting: &Nesting) -> Result<ChunkHeader> {
    let has_repetition = layout.repetition.is_some();
    let has_definition = layout.definition.is_some();
    if has_repetition != (nesting.max_repetition > 0)
        || (!has_definition && nesting.max_definition > 0)
    {
        return Err(FileError::corrupt(
            "a page whose levels do not match its layers",
        ));
    }
    let num_buffers = usize::try_from(layout.num_buffers).unwrap_or(usize::MAX);
    if layout.num_buffers != values.num_buffers() || num_buffers > MAX_BUFFERS {
        return Err(FileError::corrupt(format!(
            "{num_buffers} value buffers in each chunk"
        )));
    }
    Ok(ChunkHeader {
        has_repetition,
        has_definition,
        num_buffers,
        large: layout.large_chunks,
    })
}
