//! Random nested arrays: a random type, and values, nulls and hidden garbage from a seed.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int16Type;
use arrow_array::{
    Array, ArrayRef, BinaryViewArray, BooleanArray, DictionaryArray, FixedSizeListArray,
    GenericBinaryArray, GenericListArray, GenericStringArray, MapArray, NullArray, OffsetSizeTrait,
    PrimitiveArray, StringArray, StringViewArray, StructArray, make_array,
};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, FieldRef, Fields, TimeUnit};
use proptest::prelude::*;

/// How the values of an array look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// Any bits.
    Random,
    /// Few distinct values.
    Few,
    /// Runs of equal values.
    Runs,
    /// One value.
    Constant,
}

/// Contents of arrays.
pub(crate) fn contents() -> impl Strategy<Value = Content> {
    prop_oneof![
        3 => Just(Content::Random),
        2 => Just(Content::Few),
        2 => Just(Content::Runs),
        1 => Just(Content::Constant),
    ]
}

fn leaf_types() -> impl Strategy<Value = DataType> {
    prop_oneof![
        Just(DataType::Boolean),
        Just(DataType::Int8),
        Just(DataType::UInt16),
        Just(DataType::Int32),
        Just(DataType::Int64),
        Just(DataType::Float16),
        Just(DataType::Float32),
        Just(DataType::Float64),
        Just(DataType::Timestamp(
            TimeUnit::Microsecond,
            Some("UTC".into())
        )),
        Just(DataType::Decimal128(20, 2)),
        Just(DataType::Decimal256(40, 2)),
        Just(DataType::Utf8),
        Just(DataType::Utf8View),
        Just(DataType::BinaryView),
        Just(DataType::LargeUtf8),
        Just(DataType::Binary),
        Just(DataType::LargeBinary),
        (1..300).prop_map(DataType::FixedSizeBinary),
        Just(DataType::Null),
        Just(DataType::Dictionary(
            Box::new(DataType::Int16),
            Box::new(DataType::Utf8)
        )),
        (1..5).prop_map(|n| DataType::new_fixed_size_list(DataType::Float32, n, true)),
        (1..5).prop_map(|n| DataType::new_fixed_size_list(DataType::Boolean, n, true)),
        (1..4, 1..90).prop_map(|(n, m)| {
            let inner = DataType::new_fixed_size_list(DataType::Int16, m, true);
            DataType::new_fixed_size_list(inner, n, true)
        }),
    ]
}

/// Types nested up to four levels deep; maps only if they are asked for.
pub(crate) fn types(with_maps: bool) -> impl Strategy<Value = DataType> {
    leaf_types().prop_recursive(4, 12, 3, move |inner| {
        let item = inner.clone();
        let large = inner.clone();
        let list = prop_oneof![
            2 => item.prop_map(|t| DataType::new_list(t, true)),
            1 => large.prop_map(|t| DataType::new_large_list(t, true)),
        ];
        let fields = prop::collection::vec(inner.clone(), 1..4).prop_map(|types| {
            let fields = types.into_iter().enumerate();
            DataType::Struct(
                fields
                    .map(|(i, t)| Field::new(format!("f{i}"), t, true))
                    .collect(),
            )
        });
        let maps = u32::from(with_maps);
        prop_oneof![
            3 => list,
            3 => fields,
            maps => inner.prop_map(map_of),
        ]
    })
}

/// Structs that can be stored packed: of one width, or with strings among the fields.
pub(crate) fn packed_types(with_strings: bool) -> impl Strategy<Value = DataType> {
    let varying = u32::from(with_strings);
    let field = prop_oneof![
        1 => Just(DataType::Int8),
        2 => Just(DataType::Int32),
        2 => Just(DataType::Float64),
        1 => Just(DataType::Decimal128(20, 2)),
        1 => (1..40).prop_map(DataType::FixedSizeBinary),
        2 * varying => Just(DataType::Utf8),
        varying => Just(DataType::LargeBinary),
        varying => (1..5).prop_map(|n| DataType::new_fixed_size_list(DataType::Int16, n, false)),
    ];
    prop::collection::vec(field, 1..5).prop_map(|types| {
        let fields = types.into_iter().enumerate();
        let field = |(i, t)| Field::new(format!("f{i}"), t, false);
        DataType::Struct(fields.map(field).collect())
    })
}

fn map_of(value: DataType) -> DataType {
    let fields = vec![
        Field::new("key", DataType::Utf8, false),
        Field::new("value", value, true),
    ];
    let entries = Field::new("entries", DataType::Struct(fields.into()), false);
    DataType::Map(Arc::new(entries), false)
}

/// A small generator of random numbers, so that a seed says it all.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed ^ 0x9E37_79B9_7F4A_7C15)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end.max(1)).unwrap()).unwrap()
    }

    /// Whether something of this percentage happens.
    pub(crate) fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// Makes arrays.
#[derive(Debug)]
pub(crate) struct Maker {
    pub(crate) random: Random,
    pub(crate) content: Content,
    /// The share of nulls in percent.
    pub(crate) nulls: usize,
    /// The most items of a list.
    pub(crate) items: usize,
    /// The most bytes of a string.
    pub(crate) bytes: usize,
    /// Whether structs may be null.
    pub(crate) null_structs: bool,
}

impl Maker {
    /// An array of `len` values, with nulls at every level.
    pub(crate) fn array(&mut self, data_type: &DataType, len: usize) -> ArrayRef {
        match data_type {
            DataType::Null => Arc::new(NullArray::new(len)),
            DataType::Boolean => {
                let picks = self.picks(len);
                let bits = picks.iter().map(|pick| pick % 2 == 1).collect();
                Arc::new(BooleanArray::new(bits, self.validity(len)))
            }
            DataType::Utf8 => Arc::new(self.strings::<i32>(len)),
            DataType::Utf8View => Arc::new(StringViewArray::from(&self.strings::<i32>(len))),
            DataType::BinaryView => {
                let binary = self.array(&DataType::Binary, len);
                Arc::new(BinaryViewArray::from(binary.as_binary::<i32>()))
            }
            DataType::LargeUtf8 => Arc::new(self.strings::<i64>(len)),
            DataType::Binary => {
                let (offsets, data, nulls) = self.strings::<i32>(len).into_parts();
                Arc::new(GenericBinaryArray::new(offsets, data, nulls))
            }
            DataType::LargeBinary => {
                let (offsets, data, nulls) = self.strings::<i64>(len).into_parts();
                Arc::new(GenericBinaryArray::new(offsets, data, nulls))
            }
            DataType::List(item) => self.lists::<i32>(item, len),
            DataType::LargeList(item) => self.lists::<i64>(item, len),
            DataType::Struct(fields) => self.structs(fields, len, self.null_structs),
            DataType::FixedSizeList(item, size) => {
                let count = len * usize::try_from(*size).unwrap();
                let items = self.child(item, count);
                let nulls = self.validity(len);
                Arc::new(FixedSizeListArray::new(
                    Arc::clone(item),
                    *size,
                    items,
                    nulls,
                ))
            }
            DataType::Map(entries, _) => self.maps(entries, len),
            DataType::Dictionary(..) => {
                let items: StringArray = (0..7).map(|i| Some(format!("item {i}"))).collect();
                let keys = self.picks(len);
                let keys = keys.iter().map(|key| i16::try_from(key % 7).unwrap());
                let nulls = self.validity(len);
                let keys = PrimitiveArray::<Int16Type>::new(keys.collect::<Vec<_>>().into(), nulls);
                Arc::new(DictionaryArray::new(keys, Arc::new(items)))
            }
            DataType::FixedSizeBinary(width) => {
                self.fixed(data_type, usize::try_from(*width).unwrap(), len)
            }
            other => self.fixed(other, other.primitive_width().unwrap(), len),
        }
    }

    /// An array for a field, which may forbid nulls.
    fn child(&mut self, field: &Field, len: usize) -> ArrayRef {
        let nulls = self.nulls;
        if !field.is_nullable() {
            self.nulls = 0;
        }
        let array = self.array(field.data_type(), len);
        self.nulls = nulls;
        array
    }

    /// For each value a number; equal numbers stand for equal values.
    fn picks(&mut self, len: usize) -> Vec<u64> {
        let mut last = self.random.next();
        let content = self.content;
        let mut pick = || {
            match content {
                Content::Random => last = self.random.next(),
                Content::Few => last = self.random.next() % 5,
                Content::Runs if self.random.percent(5) => last = self.random.next() >> 20,
                Content::Runs | Content::Constant => {}
            }
            last
        };
        (0..len).map(|_| pick()).collect()
    }

    fn validity(&mut self, len: usize) -> Option<NullBuffer> {
        let percent = match self.random.below(4) {
            0 => 0,
            1 if self.nulls > 0 && self.random.percent(20) => 100,
            _ => self.nulls,
        };
        (percent > 0).then(|| (0..len).map(|_| !self.random.percent(percent)).collect())
    }

    fn fixed(&mut self, data_type: &DataType, width: usize, len: usize) -> ArrayRef {
        let picks = self.picks(len);
        let mut bytes = Vec::with_capacity(len * width);
        for pick in picks {
            let mut value = Random::new(pick);
            let number = value.next().to_le_bytes();
            // Decimals must stay within their precision.
            let kept = if data_type.is_decimal() { 6 } else { 8 };
            let start = bytes.len();
            bytes.extend(number.iter().take(kept.min(width)));
            bytes.resize(start + width, 0);
        }
        let data = ArrayData::builder(data_type.clone())
            .len(len)
            .nulls(self.validity(len))
            .add_buffer(Buffer::from_vec(bytes))
            .align_buffers(true)
            .build()
            .unwrap();
        make_array(data)
    }

    fn strings<O: OffsetSizeTrait>(&mut self, len: usize) -> GenericStringArray<O> {
        let picks = self.picks(len);
        let longest = self.bytes;
        let strings = picks.into_iter().map(|pick| {
            let mut value = Random::new(pick);
            let length = if value.percent(10) {
                0
            } else {
                value.below(longest + 1)
            };
            (0..length)
                .map(|_| char::from(b'a' + u8::try_from(value.below(20)).unwrap()))
                .collect()
        });
        let strings: Vec<String> = strings.collect();
        let (offsets, data, _) = GenericStringArray::<O>::from_iter_values(strings).into_parts();
        GenericStringArray::new(offsets, data, self.validity(len))
    }

    fn offsets<O: OffsetSizeTrait>(&mut self, len: usize) -> OffsetBuffer<O> {
        let most = self.items;
        let lengths: Vec<usize> = (0..len)
            .map(|_| {
                if self.random.percent(25) {
                    0
                } else {
                    self.random.below(most + 1)
                }
            })
            .collect();
        OffsetBuffer::from_lengths(lengths)
    }

    fn lists<O: OffsetSizeTrait>(&mut self, item: &FieldRef, len: usize) -> ArrayRef {
        let offsets = self.offsets::<O>(len);
        let count = offsets.last().unwrap().as_usize();
        // Sometimes there are items that no list shows.
        let spare = self.random.below(3);
        let items = self.array(item.data_type(), count + spare);
        let nulls = self.validity(len);
        Arc::new(GenericListArray::new(
            Arc::clone(item),
            offsets,
            items,
            nulls,
        ))
    }

    fn structs(&mut self, fields: &Fields, len: usize, nullable: bool) -> ArrayRef {
        let columns = fields.iter().map(|field| self.child(field, len)).collect();
        let nulls = if nullable { self.validity(len) } else { None };
        Arc::new(StructArray::new(fields.clone(), columns, nulls))
    }

    fn maps(&mut self, entries: &FieldRef, len: usize) -> ArrayRef {
        let offsets = self.offsets::<i32>(len);
        let count = usize::try_from(*offsets.last().unwrap()).unwrap();
        let DataType::Struct(fields) = entries.data_type() else {
            panic!("the entries of a map are structs");
        };
        let items = self.structs(fields, count, false);
        let items = StructArray::from(items.to_data());
        let nulls = self.validity(len);
        Arc::new(MapArray::new(
            Arc::clone(entries),
            offsets,
            items,
            nulls,
            false,
        ))
    }
}
