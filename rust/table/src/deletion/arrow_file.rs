//! Deletion vectors as Arrow files: one batch with one column of positions.

use std::io::Cursor;
use std::sync::Arc;

use arrow_array::{Array, RecordBatch, UInt32Array};
use arrow_ipc::reader::FileReader;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_ipc::{CompressionType, MetadataVersion};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use bytes::Bytes;
use roaring::RoaringBitmap;

use crate::{Result, TableError};

const COLUMN: &str = "row_id";

pub(super) fn write(rows: &RoaringBitmap) -> Result<Bytes> {
    let failed = |error: ArrowError| TableError::corrupt(error.to_string());
    let schema = Arc::new(Schema::new(vec![Field::new(
        COLUMN,
        DataType::UInt32,
        false,
    )]));
    let positions = UInt32Array::from_iter_values(rows.iter());
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(positions)]);
    let options = IpcWriteOptions::try_new(64, false, MetadataVersion::V5)
        .and_then(|options| options.try_with_compression(Some(CompressionType::ZSTD)))
        .map_err(failed)?;
    let mut writer =
        FileWriter::try_new_with_options(Vec::new(), &schema, options).map_err(failed)?;
    writer.write(&batch.map_err(failed)?).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(writer.into_inner().map_err(failed)?.into())
}

pub(super) fn read(bytes: &Bytes) -> Result<RoaringBitmap> {
    let damaged = |error: ArrowError| {
        TableError::corrupt(format!("not an Arrow file of deleted rows: {error}"))
    };
    let reader = FileReader::try_new(Cursor::new(bytes.clone()), None).map_err(damaged)?;
    let mut rows = RoaringBitmap::new();
    for batch in reader {
        let batch = batch.map_err(damaged)?;
        let column = batch
            .column_by_name(COLUMN)
            .filter(|column| column.null_count() == 0);
        let positions = column.and_then(|c| c.as_any().downcast_ref::<UInt32Array>());
        let Some(positions) = positions else {
            return Err(TableError::corrupt(
                "an Arrow file of deleted rows has one column 'row_id' of uint32 without nulls",
            ));
        };
        rows.extend(positions.values().iter().copied());
    }
    Ok(rows)
}
