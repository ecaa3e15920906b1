//! Mini-block pages: small values in chunks, each with its own levels.

use std::ops::Range;

use super::coder::{ChunkScratch, ValueCoder};
use super::dictionary::Dictionary;
use super::levels::LevelCoder;
use super::shred::Shredded;
use crate::layout::{DictionaryItems, MiniBlock};
use crate::{FileError, FileVersion, PageLayout, Result};

/// What parts of a chunk start at a multiple of.
const ALIGNMENT: usize = 8;
/// What fills the gaps.
const PADDING: u8 = 0xFE;
/// Pages of fewer bytes are not worth a general compressor.
const MIN_COMPRESSIBLE_BYTES: usize = 4096;

type Encoded = (PageLayout, Vec<Vec<u8>>);

/// Some values and the levels that go with them.
#[derive(Debug, Clone)]
struct Chunk {
    values: Range<usize>,
    entries: Range<usize>,
}

/// Encodes a page whose values, or indices into a dictionary, are `values`.
pub(crate) fn encode(
    version: FileVersion,
    shredded: &Shredded,
    values: &ValueCoder,
    dictionary: Option<&Dictionary>,
) -> Result<Encoded> {
    let chunks = split(shredded, values);
    let entries = || chunks.iter().map(|chunk| chunk.entries.clone());
    let mut page = PageWriter {
        shredded,
        values,
        repetition: LevelCoder::choose(version, &shredded.repetition, entries()),
        definition: LevelCoder::choose(version, &shredded.definition, entries()),
        wide: version >= FileVersion::V2_2,
        scratch: ChunkScratch::default(),
        words: Vec::with_capacity(chunks.len() * 4),
        data: Vec::with_capacity(values.estimated_size()),
    };
    for (number, chunk) in chunks.iter().enumerate() {
        page.write_chunk(chunk, number + 1 == chunks.len())?;
    }
    let has_index = !shredded.repetition.is_empty();
    let layout = MiniBlock {
        repetition: page.repetition.map(LevelCoder::encoding),
        definition: page.definition.map(LevelCoder::encoding),
        values: values.encoding(),
        dictionary: dictionary.map(|dictionary| DictionaryItems {
            encoding: dictionary.encoding.clone(),
            count: dictionary.count as u64,
        }),
        layers: shredded.layers.clone(),
        num_buffers: values.num_buffers() as u64,
        repetition_index_depth: u32::from(has_index),
        num_items: values.len() as u64,
        large_chunks: page.wide,
    };
    let mut buffers = vec![page.words, page.data];
    buffers.extend(dictionary.map(|dictionary| dictionary.items.clone()));
    if has_index {
        buffers.push(repetition_index(shredded, &chunks));
    }
    Ok((PageLayout::MiniBlock(layout), buffers))
}

/// Whether a page is so large that compressing it is worth a try.
pub(crate) fn is_worth_compressing((_, buffers): &Encoded) -> bool {
    buffers
        .get(1)
        .is_some_and(|data| data.len() >= MIN_COMPRESSIBLE_BYTES)
}

/// The smaller page of two; the first if they are equal.
pub(crate) fn smaller(first: Encoded, second: Encoded) -> Encoded {
    let size = |(_, buffers): &Encoded| buffers.iter().map(Vec::len).sum::<usize>();
    if size(&second) < size(&first) {
        second
    } else {
        first
    }
}

/// Cuts values into chunks. Entries without a value go to the chunk of the value after them, and
/// to the last chunk if there is none.
fn split(shredded: &Shredded, values: &ValueCoder) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let (mut value, mut entry) = (0, 0);
    while value < values.len() {
        let end = value + values.chunk_len(value);
        let start = entry;
        entry = if end == values.len() {
            shredded.entries()
        } else {
            end_of_entries(shredded, entry, end - value)
        };
        chunks.push(Chunk {
            values: value..end,
            entries: start..entry,
        });
        value = end;
    }
    chunks
}

/// The entry after that of the last of `count` values, counted from entry `start` on.
fn end_of_entries(shredded: &Shredded, start: usize, count: usize) -> usize {
    if !shredded.has_invisible() {
        return start + count;
    }
    let max_visible = shredded.max_visible();
    let mut left = count;
    let mut entry = start;
    while left > 0 {
        left -= usize::from(
            shredded
                .definition
                .get(entry)
                .is_none_or(|&d| d <= max_visible),
        );
        entry += 1;
    }
    entry
}

struct PageWriter<'a> {
    shredded: &'a Shredded,
    values: &'a ValueCoder,
    repetition: Option<LevelCoder>,
    definition: Option<LevelCoder>,
    /// Whether chunk words and sizes of value buffers take 32 bits.
    wide: bool,
    scratch: ChunkScratch,
    words: Vec<u8>,
    data: Vec<u8>,
}

impl PageWriter<'_> {
    fn write_chunk(&mut self, chunk: &Chunk, is_last: bool) -> Result<()> {
        let start = self.data.len();
        let mut header = self.reserve_header(chunk)?;
        let shredded = self.shredded;
        let levels = [
            (self.repetition, &shredded.repetition),
            (self.definition, &shredded.definition),
        ];
        for (coder, levels) in levels {
            let Some(coder) = coder else { continue };
            let from = self.data.len();
            coder.encode(&levels[chunk.entries.clone()], &mut self.data);
            let size = u16::try_from(self.data.len() - from).map_err(|_| too_large())?;
            header.put(&mut self.data, &size.to_le_bytes());
            pad(&mut self.data, start);
        }
        for number in 0..self.values.num_buffers() {
            let from = self.data.len();
            let range = chunk.values.clone();
            self.values
                .encode(number, range, &mut self.scratch, &mut self.data)?;
            let size = u32::try_from(self.data.len() - from).map_err(|_| too_large())?;
            if self.wide {
                header.put(&mut self.data, &size.to_le_bytes());
            } else {
                let size = u16::try_from(size).map_err(|_| too_large())?;
                header.put(&mut self.data, &size.to_le_bytes());
            }
            pad(&mut self.data, start);
        }
        self.push_word(self.data.len() - start, chunk.values.len(), is_last)
    }

    /// Makes room for the header, whose first number is known.
    fn reserve_header(&mut self, chunk: &Chunk) -> Result<Header> {
        let start = self.data.len();
        let has_levels = self.repetition.is_some() || self.definition.is_some();
        let levels = if has_levels { chunk.entries.len() } else { 0 };
        let levels = u16::try_from(levels).map_err(|_| too_large())?;
        let sizes = usize::from(self.repetition.is_some()) + usize::from(self.definition.is_some());
        let width = if self.wide { 4 } else { 2 };
        let size = 2 + 2 * sizes + width * self.values.num_buffers();
        self.data.resize(start + size, 0);
        pad(&mut self.data, start);
        let mut header = Header { at: start };
        header.put(&mut self.data, &levels.to_le_bytes());
        Ok(header)
    }

    fn push_word(&mut self, bytes: usize, values: usize, is_last: bool) -> Result<()> {
        let log = if is_last {
            0
        } else {
            u64::from(values.trailing_zeros())
        };
        let word = (bytes as u64 / 8 - 1) << 4 | log;
        if self.wide {
            let word = u32::try_from(word).map_err(|_| too_large())?;
            self.words.extend_from_slice(&word.to_le_bytes());
        } else {
            let word = u16::try_from(word).map_err(|_| too_large())?;
            self.words.extend_from_slice(&word.to_le_bytes());
        }
        Ok(())
    }
}

/// Where the next number of a chunk's header goes.
struct Header {
    at: usize,
}

impl Header {
    fn put(&mut self, data: &mut [u8], bytes: &[u8]) {
        data[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }
}

fn pad(data: &mut Vec<u8>, start: usize) {
    let size = (data.len() - start).next_multiple_of(ALIGNMENT);
    data.resize(start + size, PADDING);
}

fn too_large() -> FileError {
    FileError::invalid_input(
        "values are too large for the mini-block structure: leave lance-encoding:structural-encoding \
         away, or set it to fullzip",
    )
}

/// For each chunk, how many rows end in it, and how many entries at its end belong to a row that
/// goes on.
fn repetition_index(shredded: &Shredded, chunks: &[Chunk]) -> Vec<u8> {
    let repetition = &shredded.repetition;
    let top = shredded.max_repetition();
    let mut index = Vec::with_capacity(chunks.len() * 16);
    for Chunk { entries, .. } in chunks {
        // A row ends where the next one starts, or the page ends.
        let after = repetition.get(entries.start + 1..).unwrap_or_default();
        let next = &after[..entries.len().min(after.len())];
        let mut rows = next.iter().filter(|&&level| level == top).count();
        let last = next.iter().rposition(|&level| level == top);
        let mut open = entries.len() - last.map_or(0, |last| last + 1);
        if entries.end == repetition.len() {
            rows += usize::from(!entries.is_empty());
            open = 0;
        }
        index.extend_from_slice(&(rows as u64).to_le_bytes());
        index.extend_from_slice(&(open as u64).to_le_bytes());
    }
    index
}
