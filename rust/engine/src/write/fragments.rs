//! Rows into data files, as fragments that no version refers to yet.

use arrow_array::RecordBatch;
use pennon_file::{FileVersion, FileWriter, Schema, WrittenFile};
use pennon_io::Store;
use pennon_table::{DataFile, Fragment, data_file_name};

use super::align::Alignment;
use crate::{EngineError, Result};

/// How data files are written.
#[derive(Debug, Clone)]
pub struct FileOptions {
    /// The file version.
    pub version: FileVersion,
    /// A file ends when it holds this many rows.
    pub max_rows_per_file: u64,
    /// A file ends when it has about this many bytes.
    pub max_bytes_per_file: u64,
    /// Whether files have reached the disk when they are finished.
    pub sync: bool,
}

impl Default for FileOptions {
    /// 2.2, 1,048,576 rows or 90 GiB per file, synced.
    fn default() -> Self {
        Self {
            version: FileVersion::DEFAULT,
            max_rows_per_file: 1024 * 1024,
            max_bytes_per_file: 90 * (1 << 30),
            sync: true,
        }
    }
}

impl FileOptions {
    fn check(&self) -> Result<()> {
        if self.max_rows_per_file == 0 || self.max_bytes_per_file == 0 {
            return Err(EngineError::invalid_input(
                "max_rows_per_file and max_bytes_per_file must be at least 1",
            ));
        }
        Ok(())
    }
}

/// Writes batches as data files under the dataset's `data/` directory and returns a fragment for
/// each, with no id yet: an append or overwrite commits them. No rows give no fragments.
///
/// `schema` is the schema of the batches; columns are stored with the field ids of `target`.
///
/// # Errors
///
/// When the data does not fit `target`, or the source or the store fails. Files that were finished
/// before the failure are removed.
pub fn write_fragments(
    store: &dyn Store,
    target: &Schema,
    schema: &arrow_schema::Schema,
    batches: &mut dyn Iterator<Item = Result<RecordBatch>>,
    options: &FileOptions,
) -> Result<Vec<Fragment>> {
    options.check()?;
    let mut files = Files {
        store,
        alignment: Alignment::new(schema, target)?,
        options,
        current: None,
        done: Vec::new(),
    };
    match files.write_all(batches) {
        Ok(()) => Ok(files.done),
        Err(error) => {
            files.remove_finished();
            Err(error)
        }
    }
}

struct Files<'a> {
    store: &'a dyn Store,
    alignment: Alignment,
    options: &'a FileOptions,
    current: Option<(String, FileWriter)>,
    done: Vec<Fragment>,
}

impl Files<'_> {
    fn write_all(&mut self, batches: &mut dyn Iterator<Item = Result<RecordBatch>>) -> Result<()> {
        for batch in batches {
            let mut batch = self.alignment.apply(&batch?)?;
            while batch.num_rows() > 0 {
                batch = self.write_some(batch)?;
            }
        }
        self.finish_current()
    }

    /// Writes as many rows as the current file may still hold and returns the others.
    fn write_some(&mut self, batch: RecordBatch) -> Result<RecordBatch> {
        let (name, mut writer) = match self.current.take() {
            Some(current) => current,
            None => self.begin()?,
        };
        let room = self.options.max_rows_per_file.saturating_sub(writer.rows());
        let rows = batch
            .num_rows()
            .min(usize::try_from(room).unwrap_or(usize::MAX));
        writer.write(&batch.slice(0, rows))?;
        let full = writer.rows() >= self.options.max_rows_per_file
            || writer.bytes() >= self.options.max_bytes_per_file;
        self.current = Some((name, writer));
        if full {
            self.finish_current()?;
        }
        Ok(batch.slice(rows, batch.num_rows() - rows))
    }

    fn begin(&self) -> Result<(String, FileWriter)> {
        let name = data_file_name();
        let sink = self.store.create(&format!("data/{name}"))?;
        let options = pennon_file::WriteOptions {
            version: self.options.version,
            ..pennon_file::WriteOptions::default()
        };
        Ok((
            name,
            FileWriter::new(sink, self.alignment.stored.clone(), options)?,
        ))
    }

    fn finish_current(&mut self) -> Result<()> {
        if let Some((name, writer)) = self.current.take() {
            let written = writer.finish(self.options.sync)?;
            self.done.push(fragment_of(name, &written));
        }
        Ok(())
    }

    fn remove_finished(&mut self) {
        for file in self.done.drain(..).flat_map(|fragment| fragment.files) {
            // The failure that led here is what the caller must see; a file that stays behind is
            // an orphan that no version refers to.
            let _ = self.store.delete(&format!("data/{}", file.path));
        }
    }
}

fn fragment_of(name: String, written: &WrittenFile) -> Fragment {
    let (fields, column_indices) = written.columns.iter().copied().unzip();
    Fragment::new(
        DataFile::new(name, fields, column_indices, written.version, written.size),
        written.rows,
    )
}
