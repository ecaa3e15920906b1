//! The names under which the format stores types.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use arrow_schema::{DataType, Field, IntervalUnit, TimeUnit};

use crate::{FileError, Result};

const EXTENSION_NAME: &str = "ARROW:extension:name";
const EXTENSION_METADATA: &str = "ARROW:extension:metadata";
const BFLOAT16: &str = "lance.bfloat16";

/// A field's type as the format names it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogicalType {
    /// A type without children: its Arrow type says it all. Fixed-size lists of such types and
    /// dictionaries are among them.
    Leaf(DataType),
    /// A struct; the fields are children.
    Struct,
    /// A list with 32-bit offsets; the item is the child. `of_struct` keeps the spelling.
    List {
        /// Whether the stored name says that the items are structs.
        of_struct: bool,
    },
    /// A list with 64-bit offsets; the item is the child.
    LargeList {
        /// Whether the stored name says that the items are structs.
        of_struct: bool,
    },
    /// A map; the entries are the child.
    Map,
    /// A fixed-size list of structs; the item is the child.
    FixedSizeStructList {
        /// Items per list.
        size: i32,
    },
    /// JSON, stored as large binary.
    Json,
}

impl LogicalType {
    /// The type of an Arrow type, without its children.
    ///
    /// # Errors
    ///
    /// A message that says what the format cannot hold, and what to use instead.
    pub(crate) fn from_arrow(data_type: &DataType) -> std::result::Result<Self, String> {
        let of_struct = |item: &DataType| matches!(item, DataType::Struct(_));
        Ok(match data_type {
            DataType::Struct(_) => Self::Struct,
            DataType::List(item) => Self::List {
                of_struct: of_struct(item.data_type()),
            },
            DataType::LargeList(item) => Self::LargeList {
                of_struct: of_struct(item.data_type()),
            },
            DataType::Map(_, false) => Self::Map,
            DataType::Map(_, true) => return Err("a map with sorted keys cannot be stored".into()),
            DataType::FixedSizeList(item, size) if of_struct(item.data_type()) => {
                Self::FixedSizeStructList { size: *size }
            }
            DataType::Utf8View => Self::Leaf(DataType::Utf8),
            DataType::BinaryView => Self::Leaf(DataType::Binary),
            other => {
                leaf_name(other)?;
                Self::Leaf(other.clone())
            }
        })
    }
}

impl fmt::Display for LogicalType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Leaf(data_type) => {
                f.write_str(&leaf_name(data_type).unwrap_or_else(|_| data_type.to_string()))
            }
            Self::Struct => f.write_str("struct"),
            Self::List { of_struct: false } => f.write_str("list"),
            Self::List { of_struct: true } => f.write_str("list.struct"),
            Self::LargeList { of_struct: false } => f.write_str("large_list"),
            Self::LargeList { of_struct: true } => f.write_str("large_list.struct"),
            Self::Map => f.write_str("map"),
            Self::FixedSizeStructList { size } => write!(f, "fixed_size_list:struct:{size}"),
            Self::Json => f.write_str("json"),
        }
    }
}

impl FromStr for LogicalType {
    type Err = FileError;

    fn from_str(name: &str) -> Result<Self> {
        Ok(match name {
            "struct" => Self::Struct,
            "list" => Self::List { of_struct: false },
            "list.struct" => Self::List { of_struct: true },
            "large_list" => Self::LargeList { of_struct: false },
            "large_list.struct" => Self::LargeList { of_struct: true },
            "map" => Self::Map,
            "json" => Self::Json,
            _ => match struct_list_size(name) {
                Some(size) => Self::FixedSizeStructList { size },
                None => Self::Leaf(parse_leaf(name, 0)?),
            },
        })
    }
}

fn struct_list_size(name: &str) -> Option<i32> {
    name.strip_prefix("fixed_size_list:struct:")?
        .parse()
        .ok()
        .filter(|size| *size >= 0)
}

const SIMPLE: &[(&str, DataType)] = &[
    ("null", DataType::Null),
    ("bool", DataType::Boolean),
    ("int8", DataType::Int8),
    ("uint8", DataType::UInt8),
    ("int16", DataType::Int16),
    ("uint16", DataType::UInt16),
    ("int32", DataType::Int32),
    ("uint32", DataType::UInt32),
    ("int64", DataType::Int64),
    ("uint64", DataType::UInt64),
    ("halffloat", DataType::Float16),
    ("float", DataType::Float32),
    ("double", DataType::Float64),
    ("string", DataType::Utf8),
    ("large_string", DataType::LargeUtf8),
    ("binary", DataType::Binary),
    ("large_binary", DataType::LargeBinary),
    ("date32:day", DataType::Date32),
    ("date64:ms", DataType::Date64),
    ("time32:s", DataType::Time32(TimeUnit::Second)),
    ("time32:ms", DataType::Time32(TimeUnit::Millisecond)),
    ("time64:us", DataType::Time64(TimeUnit::Microsecond)),
    ("time64:ns", DataType::Time64(TimeUnit::Nanosecond)),
    ("duration:s", DataType::Duration(TimeUnit::Second)),
    ("duration:ms", DataType::Duration(TimeUnit::Millisecond)),
    ("duration:us", DataType::Duration(TimeUnit::Microsecond)),
    ("duration:ns", DataType::Duration(TimeUnit::Nanosecond)),
];

const UNITS: [(&str, TimeUnit); 4] = [
    ("s", TimeUnit::Second),
    ("ms", TimeUnit::Millisecond),
    ("us", TimeUnit::Microsecond),
    ("ns", TimeUnit::Nanosecond),
];

/// The stored name of a type without children.
fn leaf_name(data_type: &DataType) -> std::result::Result<String, String> {
    if let Some((name, _)) = SIMPLE.iter().find(|(_, simple)| simple == data_type) {
        return Ok((*name).to_owned());
    }
    match data_type {
        DataType::Decimal128(precision, scale) => Ok(format!("decimal:128:{precision}:{scale}")),
        DataType::Decimal256(precision, scale) => Ok(format!("decimal:256:{precision}:{scale}")),
        DataType::Timestamp(unit, zone) => Ok(format!(
            "timestamp:{}:{}",
            unit_name(*unit),
            zone.as_deref().unwrap_or("-")
        )),
        DataType::FixedSizeBinary(width) => Ok(format!("fixed_size_binary:{width}")),
        DataType::FixedSizeList(item, size) => fixed_list_name(item, *size),
        DataType::Dictionary(key, value) => {
            let (key, value) = (leaf_name(key)?, leaf_name(value)?);
            if value.contains(':') {
                return Err(format!(
                    "a dictionary of {value} cannot be stored; cast it to {value}"
                ));
            }
            Ok(format!("dict:{value}:{key}:false"))
        }
        DataType::Decimal32(..) | DataType::Decimal64(..) => Err(format!(
            "{data_type} cannot be stored; cast it to decimal128"
        )),
        DataType::Interval(IntervalUnit::MonthDayNano | _) => Err(format!(
            "{data_type} cannot be stored; use a duration, or a struct of its parts"
        )),
        DataType::ListView(_) | DataType::LargeListView(_) => {
            Err(format!("{data_type} cannot be stored; cast it to a list"))
        }
        DataType::RunEndEncoded(..) => Err(format!(
            "{data_type} cannot be stored; cast it to its value type"
        )),
        other => Err(format!("{other} cannot be stored")),
    }
}

fn fixed_list_name(item: &Field, size: i32) -> std::result::Result<String, String> {
    let (field, item) = (item, item.data_type());
    let storable = matches!(item, DataType::FixedSizeList(..) | DataType::Boolean)
        || (item.is_primitive() && !matches!(item, DataType::Interval(_)))
        || matches!(item, DataType::FixedSizeBinary(_));
    if !storable {
        return Err(format!(
            "a fixed-size list of {item} cannot be stored; cast it to a list of {item}"
        ));
    }
    let is_bfloat16 = field
        .metadata()
        .get(EXTENSION_NAME)
        .is_some_and(|n| n == BFLOAT16);
    let name = match item {
        DataType::FixedSizeBinary(2) if is_bfloat16 => BFLOAT16.to_owned(),
        other => leaf_name(other)?,
    };
    Ok(format!("fixed_size_list:{name}:{size}"))
}

fn unit_name(unit: TimeUnit) -> &'static str {
    UNITS
        .iter()
        .find(|(_, u)| *u == unit)
        .map_or("ns", |(name, _)| name)
}

fn parse_leaf(name: &str, depth: usize) -> Result<DataType> {
    if let Some((_, data_type)) = SIMPLE.iter().find(|(simple, _)| *simple == name) {
        return Ok(data_type.clone());
    }
    let unknown = || FileError::unsupported(format!("the type '{name}' is not known"));
    if depth > super::MAX_DEPTH {
        return Err(FileError::corrupt("a type that is nested too deeply"));
    }
    let (kind, rest) = name.split_once(':').ok_or_else(unknown)?;
    match kind {
        "decimal" => parse_decimal(rest).ok_or_else(unknown),
        "timestamp" => {
            let (unit, zone) = rest.split_once(':').ok_or_else(unknown)?;
            let unit = UNITS
                .iter()
                .find(|(n, _)| *n == unit)
                .ok_or_else(unknown)?
                .1;
            Ok(DataType::Timestamp(
                unit,
                (zone != "-").then(|| zone.into()),
            ))
        }
        "fixed_size_binary" => {
            let width = rest.parse().ok().filter(|width: &i32| *width >= 0);
            Ok(DataType::FixedSizeBinary(width.ok_or_else(unknown)?))
        }
        "fixed_size_list" => {
            let (item, size) = rest.rsplit_once(':').ok_or_else(unknown)?;
            let size = size
                .parse()
                .ok()
                .filter(|size: &i32| *size >= 0)
                .ok_or_else(unknown)?;
            let item = match item {
                BFLOAT16 => bfloat16_item(),
                _ => Field::new_list_field(parse_leaf(item, depth + 1)?, true),
            };
            Ok(DataType::FixedSizeList(Arc::new(item), size))
        }
        "dict" => {
            let mut parts = rest.split(':');
            let value = parse_leaf(parts.next().ok_or_else(unknown)?, depth + 1)?;
            let key = parse_leaf(parts.next().ok_or_else(unknown)?, depth + 1)?;
            if !key.is_dictionary_key_type() {
                return Err(unknown());
            }
            Ok(DataType::Dictionary(Box::new(key), Box::new(value)))
        }
        _ => Err(unknown()),
    }
}

/// The items of lists of an extension type that the name of the list tells.
fn bfloat16_item() -> Field {
    let metadata = [(EXTENSION_NAME, BFLOAT16), (EXTENSION_METADATA, "")];
    let metadata = metadata.map(|(key, value)| (key.to_owned(), value.to_owned()));
    Field::new_list_field(DataType::FixedSizeBinary(2), true).with_metadata(metadata.into())
}

fn parse_decimal(rest: &str) -> Option<DataType> {
    let mut parts = rest.split(':');
    let (bits, precision, scale) = (parts.next()?, parts.next()?, parts.next()?);
    let (precision, scale): (u8, i8) = (precision.parse().ok()?, scale.parse().ok()?);
    match bits {
        "128" if (1..=38).contains(&precision) => Some(DataType::Decimal128(precision, scale)),
        "256" if (1..=76).contains(&precision) => Some(DataType::Decimal256(precision, scale)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stored_name_is_read_back_as_it_was() {
        for name in [
            "int32",
            "halffloat",
            "date32:day",
            "timestamp:us:-",
            "timestamp:us:+05:30",
            "decimal:128:10:2",
            "decimal:256:40:-3",
            "fixed_size_binary:16",
            "fixed_size_list:float:4",
            "fixed_size_list:timestamp:us:+05:30:2",
            "fixed_size_list:fixed_size_list:float:2:3",
            "fixed_size_list:struct:2",
            "fixed_size_list:lance.bfloat16:3",
            "dict:string:int16:false",
            "list",
            "list.struct",
            "large_list",
            "map",
            "struct",
            "json",
        ] {
            assert_eq!(name.parse::<LogicalType>().unwrap().to_string(), name);
        }
    }

    #[test]
    fn an_unknown_name_is_refused() {
        for name in [
            "",
            "int7",
            "decimal:128:99:0",
            "fixed_size_list:float:-1",
            "dict:string:string:false",
        ] {
            assert!(name.parse::<LogicalType>().is_err(), "{name}");
        }
    }

    #[test]
    fn a_type_that_cannot_be_stored_says_what_can() {
        let error = LogicalType::from_arrow(&DataType::Decimal32(5, 1)).unwrap_err();
        assert!(error.contains("cast it to decimal128"), "{error}");
    }
}
