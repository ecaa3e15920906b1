//! Types that files hold in another form: what is stored is a type of the format, and a tag in the
//! field's metadata, which other readers ignore, says what it was.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field as ArrowField};

use super::LogicalType;

/// The key of the tag.
const KEY: &str = "pennon:arrow-type";
const EXTENSION_NAME: &str = "ARROW:extension:name";
/// The name of JSON text among Arrow's extension types, and of stored JSON.
const TEXT_JSON: &str = "arrow.json";
const STORED_JSON: &str = "lance.json";

/// What the stored type of a field does not say.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Tag {
    /// Strings as views.
    StringView,
    /// Binaries as views.
    BinaryView,
    /// A dictionary whose values are in order.
    OrderedDictionary,
    /// Lists of one length whose items, from the outside in, are not just nullable `item`s.
    Items(Vec<Item>),
}

/// The name of an item, whether it may be null, and its metadata.
type Item = (String, bool, BTreeMap<String, String>);

impl Tag {
    fn of(field: &ArrowField) -> Option<Self> {
        match field.data_type() {
            DataType::Utf8View => Some(Self::StringView),
            DataType::BinaryView => Some(Self::BinaryView),
            DataType::Dictionary(..) if field.dict_is_ordered() == Some(true) => {
                Some(Self::OrderedDictionary)
            }
            DataType::FixedSizeList(..) => {
                let items = items_of(field.data_type());
                let stored = LogicalType::from_arrow(field.data_type()).ok()?.to_string();
                let stored = match stored.parse().ok()? {
                    LogicalType::Leaf(data_type) => items_of(&data_type),
                    _ => return None,
                };
                (items != stored).then_some(Self::Items(items))
            }
            _ => None,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::StringView => "string_view".to_owned(),
            Self::BinaryView => "binary_view".to_owned(),
            Self::OrderedDictionary => "ordered_dictionary".to_owned(),
            Self::Items(items) => serde_json::json!(items).to_string(),
        }
    }

    /// The tag in a field's metadata, if it fits the stored type: another writer may have changed
    /// that.
    fn read(metadata: &BTreeMap<String, String>, stored: &LogicalType) -> Option<Self> {
        match (metadata.get(KEY)?.as_str(), stored) {
            ("string_view", LogicalType::Leaf(DataType::Utf8)) => Some(Self::StringView),
            ("binary_view", LogicalType::Leaf(DataType::Binary)) => Some(Self::BinaryView),
            ("ordered_dictionary", LogicalType::Leaf(DataType::Dictionary(..))) => {
                Some(Self::OrderedDictionary)
            }
            (text, LogicalType::Leaf(DataType::FixedSizeList(..))) => {
                serde_json::from_str(text).ok().map(Self::Items)
            }
            _ => None,
        }
    }
}

/// The items of lists of one length, from the outside in.
fn items_of(data_type: &DataType) -> Vec<Item> {
    let mut items = Vec::new();
    let mut data_type = data_type;
    while let DataType::FixedSizeList(item, _) = data_type {
        let metadata = item.metadata().clone().into_iter().collect();
        items.push((item.name().clone(), item.is_nullable(), metadata));
        data_type = item.data_type();
    }
    items
}

/// Lists of one length with these items.
fn with_items(data_type: &DataType, items: &[Item]) -> DataType {
    match (data_type, items) {
        (DataType::FixedSizeList(item, size), [(name, nullable, metadata), rest @ ..]) => {
            let item = ArrowField::new(name, with_items(item.data_type(), rest), *nullable)
                .with_metadata(metadata.clone().into_iter().collect());
            DataType::FixedSizeList(Arc::new(item), *size)
        }
        (other, _) => other.clone(),
    }
}

/// The stored type of an Arrow field, and its metadata with what else there is to know.
///
/// # Errors
///
/// What the format cannot hold, and what to use instead.
pub(super) fn store(field: &ArrowField) -> Result<(LogicalType, BTreeMap<String, String>), String> {
    let metadata = field.metadata().iter();
    let mut metadata: BTreeMap<_, _> = metadata.map(|(k, v)| (k.clone(), v.clone())).collect();
    metadata.remove(KEY);
    let extension = metadata.get(EXTENSION_NAME).map(String::as_str);
    if extension == Some(TEXT_JSON) {
        if !matches!(
            field.data_type(),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
        ) {
            return Err(format!("JSON must be text, not {}", field.data_type()));
        }
        metadata.insert(EXTENSION_NAME.to_owned(), STORED_JSON.to_owned());
        return Ok((LogicalType::Json, metadata));
    }
    if extension == Some(STORED_JSON) {
        return Err("JSON must be given as text, of Arrow's extension type arrow.json".to_owned());
    }
    if let Some(tag) = Tag::of(field) {
        metadata.insert(KEY.to_owned(), tag.text());
    }
    Ok((LogicalType::from_arrow(field.data_type())?, metadata))
}

/// The Arrow field of a stored one, whose stored type is `data_type`.
pub(super) fn restore(
    name: &str,
    stored: &LogicalType,
    data_type: DataType,
    nullable: bool,
    metadata: &BTreeMap<String, String>,
) -> ArrowField {
    let tag = Tag::read(metadata, stored);
    let data_type = match &tag {
        Some(Tag::StringView) => DataType::Utf8View,
        Some(Tag::BinaryView) => DataType::BinaryView,
        Some(Tag::Items(items)) => with_items(&data_type, items),
        _ if *stored == LogicalType::Json => DataType::Utf8,
        _ => data_type,
    };
    let mut metadata = metadata.clone();
    if tag.is_some() {
        metadata.remove(KEY);
    }
    if *stored == LogicalType::Json {
        metadata.insert(EXTENSION_NAME.to_owned(), TEXT_JSON.to_owned());
    }
    ArrowField::new(name, data_type, nullable)
        .with_metadata(metadata.into_iter().collect())
        .with_dict_is_ordered(tag == Some(Tag::OrderedDictionary))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use arrow_schema::Schema as ArrowSchema;

    use crate::Schema;

    use super::*;

    fn there_and_back(field: ArrowField) -> (Schema, ArrowField) {
        let stored = Schema::from_arrow(&ArrowSchema::new(vec![field])).unwrap();
        let restored = stored.to_arrow().unwrap().field(0).clone();
        (stored, restored)
    }

    #[test]
    fn what_other_readers_do_not_see_is_restored() {
        let dictionary = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
        let json = HashMap::from([(EXTENSION_NAME.to_owned(), TEXT_JSON.to_owned())]);
        let not_null = DataType::new_fixed_size_list(DataType::Int8, 2, false);
        let named = ArrowField::new("element", not_null, true);
        let named = DataType::FixedSizeList(Arc::new(named), 3);
        let fields = [
            (
                ArrowField::new("a", named, true),
                "fixed_size_list:fixed_size_list:int8:2:3",
            ),
            (ArrowField::new("a", DataType::Utf8View, true), "string"),
            (ArrowField::new("a", DataType::BinaryView, false), "binary"),
            (
                ArrowField::new("a", dictionary.clone(), true).with_dict_is_ordered(true),
                "dict:string:int8:false",
            ),
            (
                ArrowField::new("a", DataType::Utf8, true).with_metadata(json),
                "json",
            ),
            (
                ArrowField::new("a", DataType::new_list(DataType::Utf8View, true), true),
                "list",
            ),
        ];
        for (field, name) in fields {
            let (stored, restored) = there_and_back(field.clone());
            assert_eq!(stored.fields[0].logical_type.to_string(), name);
            assert_eq!(restored, field);
            assert_eq!(restored.dict_is_ordered(), field.dict_is_ordered());
        }
        let (stored, restored) = there_and_back(ArrowField::new("a", dictionary, true));
        assert!(stored.fields[0].metadata.is_empty());
        assert_eq!(restored.dict_is_ordered(), Some(false));
    }

    #[test]
    fn a_tag_that_does_not_fit_the_type_means_nothing() {
        let (mut stored, _) = there_and_back(ArrowField::new("a", DataType::Utf8View, true));
        stored.fields[0].logical_type = LogicalType::Leaf(DataType::Int32);
        let restored = stored.to_arrow().unwrap();
        assert_eq!(restored.field(0).data_type(), &DataType::Int32);
    }
}
