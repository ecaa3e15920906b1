//! The names under which the format stores messages in [`Any`](crate::file::Any): a slash and the
//! full name of the message.

/// [`encodings::ColumnEncoding`](crate::encodings::ColumnEncoding), in every file version.
pub const COLUMN_ENCODING: &str = "/lance.encodings.ColumnEncoding";
/// [`encodings::ArrayEncoding`](crate::encodings::ArrayEncoding), for pages of 2.0.
pub const ARRAY_ENCODING: &str = "/lance.encodings.ArrayEncoding";
/// [`encodings21::PageLayout`](crate::encodings21::PageLayout), for pages of 2.1 and 2.2.
pub const PAGE_LAYOUT: &str = "/lance.encodings21.PageLayout";

/// [`table::BTreeIndexDetails`](crate::table::BTreeIndexDetails).
pub const BTREE_INDEX: &str = "/lance.table.BTreeIndexDetails";
/// [`table::BitmapIndexDetails`](crate::table::BitmapIndexDetails).
pub const BITMAP_INDEX: &str = "/lance.table.BitmapIndexDetails";
/// [`table::LabelListIndexDetails`](crate::table::LabelListIndexDetails).
pub const LABEL_LIST_INDEX: &str = "/lance.table.LabelListIndexDetails";
/// [`table::NGramIndexDetails`](crate::table::NGramIndexDetails).
pub const NGRAM_INDEX: &str = "/lance.table.NGramIndexDetails";
/// [`table::ZoneMapIndexDetails`](crate::table::ZoneMapIndexDetails).
pub const ZONE_MAP_INDEX: &str = "/lance.table.ZoneMapIndexDetails";
/// [`table::InvertedIndexDetails`](crate::table::InvertedIndexDetails).
pub const INVERTED_INDEX: &str = "/lance.table.InvertedIndexDetails";
/// [`table::FragmentReuseIndexDetails`](crate::table::FragmentReuseIndexDetails).
pub const FRAGMENT_REUSE_INDEX: &str = "/lance.table.FragmentReuseIndexDetails";
/// [`table::VectorIndexDetails`](crate::table::VectorIndexDetails), of older writers.
pub const VECTOR_INDEX_WITHOUT_PARAMETERS: &str = "/lance.table.VectorIndexDetails";

/// [`index::VectorIndexDetails`](crate::index::VectorIndexDetails).
pub const VECTOR_INDEX: &str = "/lance.index.pb.VectorIndexDetails";
/// [`index::BloomFilterIndexDetails`](crate::index::BloomFilterIndexDetails).
pub const BLOOM_FILTER_INDEX: &str = "/lance.index.pb.BloomFilterIndexDetails";
/// [`index::JsonIndexDetails`](crate::index::JsonIndexDetails).
pub const JSON_INDEX: &str = "/lance.index.pb.JsonIndexDetails";
/// [`index::FmIndexDetails`](crate::index::FmIndexDetails).
pub const FM_INDEX: &str = "/lance.index.pb.FMIndexDetails";
/// [`index::MinHashLshIndexDetails`](crate::index::MinHashLshIndexDetails).
pub const MIN_HASH_LSH_INDEX: &str = "/lance.index.pb.MinHashLshIndexDetails";
/// [`index::RTreeIndexDetails`](crate::index::RTreeIndexDetails).
pub const RTREE_INDEX: &str = "/lance.index.pb.RTreeIndexDetails";
