//! Lists: their offsets, which say which rows of the item column are theirs.

use std::ops::Range;

use super::encoding::ArrayEncoding;
use super::ends::{Ends, EndsReader};
use super::page::Column;
use super::stream::{Rounds, Supply};
use crate::levels::LayerValues;
use crate::{FileError, Result};

/// The offsets of some lists, yet to be read.
#[derive(Debug)]
pub(super) struct ListReader {
    parts: Vec<Part>,
}

/// The lists of one page.
#[derive(Debug)]
struct Part {
    page: usize,
    ends: EndsReader,
    /// The row of the item column at which the page's items begin.
    first_item: u64,
    num_items: u64,
}

/// What the offsets of lists say.
#[derive(Debug, Default)]
pub(super) struct Lists {
    pub(super) layer: LayerValues,
    /// The rows of the item column that the lists own, in order.
    pub(super) items: Vec<Range<u64>>,
    /// How many these are.
    pub(super) num_items: u64,
}

impl ListReader {
    /// The lists `rows` of a column.
    pub(super) fn new(column: &Column, rows: &[Range<u64>]) -> Result<Self> {
        let parts = column.starts.split(rows).into_iter();
        let part = |(page, rows): (usize, Vec<Range<u64>>)| {
            Part::new(column, page, rows).map_err(|error| error.in_page(page))
        };
        Ok(Self {
            parts: parts.map(part).collect::<Result<_>>()?,
        })
    }

    /// Reads the offsets, given the bytes that they need.
    pub(super) fn decode(&self, bytes: &mut Supply) -> Result<Lists> {
        let mut lists = Lists::default();
        for part in &self.parts {
            part.ends
                .decode(bytes)
                .and_then(|all| all.iter().try_for_each(|ends| lists.push(part, ends)))
                .map_err(|error| error.in_page(part.page))?;
        }
        Ok(lists)
    }
}

impl Part {
    fn new(column: &Column, number: usize, rows: Vec<Range<u64>>) -> Result<Self> {
        let page = column.page(number);
        let ArrayEncoding::List {
            ends,
            null_adjustment,
            num_items,
        } = page.encoding.without_nulls()
        else {
            return Err(FileError::corrupt(format!(
                "encoding {} where the offsets of lists belong",
                page.encoding.name()
            )));
        };
        Ok(Self {
            page: number,
            ends: EndsReader::new(page, ends, *null_adjustment, rows)?,
            first_item: column.first_item(number),
            num_items: *num_items,
        })
    }
}

impl Lists {
    fn push(&mut self, part: &Part, ends: &Ends) -> Result<()> {
        if ends.end() > part.num_items {
            return Err(FileError::corrupt(format!(
                "lists of {} items in a page of {}",
                ends.end(),
                part.num_items
            )));
        }
        for (span, is_null) in ends.rows() {
            if !is_null {
                self.push_items(part.first_item + span.start..part.first_item + span.end);
            }
            let end = i64::try_from(self.num_items)
                .map_err(|_| FileError::corrupt("lists of too many items"))?;
            self.layer.ends.push(end);
        }
        if ends.has_nulls() {
            let validity = &mut self.layer.validity;
            validity.push_each(ends.nulls(), |is_null| !is_null);
        } else {
            self.layer.validity.push_ones(ends.ends.len());
        }
        Ok(())
    }

    fn push_items(&mut self, items: Range<u64>) {
        if items.is_empty() {
            return;
        }
        self.num_items += items.end - items.start;
        match self.items.last_mut() {
            Some(last) if last.end == items.start => last.end = items.end,
            _ => self.items.push(items),
        }
    }
}

impl Rounds for ListReader {
    fn is_ready(&self) -> bool {
        self.parts.iter().all(|part| part.ends.is_ready())
    }

    fn round_needs(&self, out: &mut Vec<Range<u64>>) {
        for part in &self.parts {
            part.ends.round_needs(out);
        }
    }

    fn supply(&mut self, bytes: &mut Supply) -> Result<()> {
        self.parts
            .iter_mut()
            .try_for_each(|part| part.ends.supply(bytes))
    }

    fn needs(&self, out: &mut Vec<Range<u64>>) {
        for part in &self.parts {
            part.ends.needs(out);
        }
    }
}
