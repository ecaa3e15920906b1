//! Random sequences of operations on a dataset, beside a plain list of rows.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use pennon_engine::{Dataset, DeleteOptions, FileOptions, WriteMode, WriteOptions, write_dataset};
use proptest::prelude::*;

/// What is done to the dataset.
#[derive(Debug, Clone)]
enum Operation {
    Append(usize),
    Overwrite(usize),
    /// Deletes the rows whose id leaves this rest when it is divided by 7.
    Delete(i64),
    /// Makes the version so many steps back the newest.
    Restore(usize),
}

type Row = (i64, Option<String>);

fn rows(first: i64, count: usize) -> Vec<Row> {
    let name = |id: i64| (id % 3 != 0).then(|| format!("name {}", id % 11));
    (first..).take(count).map(|id| (id, name(id))).collect()
}

fn schema() -> Arc<Schema> {
    Arc::new(Schema::new(vec![
        Field::new("id", DataType::Int64, false),
        Field::new("name", DataType::Utf8, true),
    ]))
}

fn batch(rows: &[Row]) -> RecordBatch {
    let ids: Int64Array = rows.iter().map(|row| row.0).collect::<Vec<_>>().into();
    let names: StringArray = rows.iter().map(|row| row.1.clone()).collect();
    RecordBatch::try_new(schema(), vec![Arc::new(ids), Arc::new(names)]).unwrap()
}

fn write(uri: &str, rows: &[Row], mode: WriteMode) -> Dataset {
    let files = FileOptions {
        max_rows_per_file: 50,
        ..FileOptions::default()
    };
    let options = WriteOptions {
        mode,
        files,
        ..WriteOptions::default()
    };
    let batches: Vec<_> = rows.chunks(30).map(|rows| Ok(batch(rows))).collect();
    write_dataset(uri, &schema(), &mut batches.into_iter(), &options).unwrap()
}

fn read(batch: &RecordBatch) -> Vec<Row> {
    let ids = batch.column(0).as_primitive::<Int64Type>();
    let names = batch.column(1).as_string::<i32>();
    let name = |at| names.is_valid(at).then(|| names.value(at).to_owned());
    (0..batch.num_rows())
        .map(|at| (ids.value(at), name(at)))
        .collect()
}

fn scan(dataset: &Dataset, filter: Option<&str>) -> Vec<Row> {
    let filter = filter.map(str::to_owned);
    let batches = dataset
        .scan()
        .filter(filter)
        .batch_rows(20)
        .stream()
        .unwrap();
    batches.flat_map(|batch| read(&batch.unwrap())).collect()
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let operation = prop_oneof![
        4 => (1_usize..120).prop_map(Operation::Append),
        1 => (0_usize..120).prop_map(Operation::Overwrite),
        4 => (0_i64..7).prop_map(Operation::Delete),
        1 => (0_usize..5).prop_map(Operation::Restore),
    ];
    prop::collection::vec(operation, 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn a_dataset_holds_what_a_list_of_rows_would(operations in operations()) {
        let folder = tempfile::tempdir().unwrap();
        let uri = folder.path().join("d.lance").to_str().unwrap().to_owned();
        let mut history = vec![rows(0, 60)];
        let next = 1000;
        let mut dataset = write(&uri, &history[0], WriteMode::Create);
        for operation in operations {
            let mut now = history.last().cloned().unwrap();
            match operation {
                Operation::Append(count) => {
                    now.extend(rows(next, count));
                    dataset = write(&uri, &rows(next, count), WriteMode::Append);
                }
                Operation::Overwrite(count) => {
                    now = rows(next, count);
                    dataset = write(&uri, &now, WriteMode::Overwrite);
                }
                Operation::Delete(rest) => {
                    let before = now.len();
                    now.retain(|row| row.0 % 7 != rest);
                    let predicate = format!("id % 7 = {rest}");
                    let (after, deleted) =
                        dataset.delete(&predicate, &DeleteOptions::default()).unwrap();
                    prop_assert_eq!(deleted, (before - now.len()) as u64);
                    dataset = after;
                }
                Operation::Restore(back) => {
                    let version = history.len() - back.min(history.len() - 1);
                    now = history[version - 1].clone();
                    let old = dataset.checkout(version as u64).unwrap();
                    dataset = old.restore(&Default::default()).unwrap();
                }
            }
            // A delete that finds no row makes no version.
            if dataset.version() > history.len() as u64 {
                history.push(now.clone());
            }
            prop_assert_eq!(dataset.version(), history.len() as u64);
            prop_assert_eq!(scan(&dataset, None), now.clone());
            prop_assert_eq!(dataset.count_rows().unwrap(), now.len() as u64);
            let named: Vec<Row> =
                now.iter().filter(|row| row.1.as_deref() == Some("name 4")).cloned().collect();
            prop_assert_eq!(scan(&dataset, Some("name = 'name 4'")), named);
            let places: Vec<usize> = (0..now.len()).rev().step_by(13).collect();
            let wanted: Vec<Row> = places.iter().map(|at| now[*at].clone()).collect();
            let places: Vec<u64> = places.into_iter().map(|at| at as u64).collect();
            prop_assert_eq!(read(&dataset.take(&places, None).unwrap()), wanted);
        }
        for (version, rows) in history.iter().enumerate() {
            prop_assert_eq!(&scan(&dataset.checkout(version as u64 + 1).unwrap(), None), rows);
        }
    }
}
