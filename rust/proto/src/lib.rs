//! Messages of the Lance file and table formats, generated from the `.proto` files in the
//! repository's `protos` directory.
//!
//! | module | package | what it describes |
//! |---|---|---|
//! | [`mod@file`] | `lance.file` | the container of a data file, and fields of a schema |
//! | [`encodings`] | `lance.encodings` | encodings of 2.0 pages, and of columns in every version |
//! | [`encodings21`] | `lance.encodings21` | page layouts and encodings of 2.1 and 2.2 |
//! | [`table`] | `lance.table` | manifests, transactions, row ids, the list of indices |
//! | [`index`] | `lance.index.pb` | parameters of indices, the insides of vector index files |
//!
//! Maps are ordered, so equal messages have equal bytes. Decoding drops fields that are not
//! declared, and so does every other reader of the format.
//!
//! ```
//! use pennon_proto::{encodings::ColumnEncoding, file::Any, type_url};
//! use prost::Message;
//!
//! let any = Any::pack(type_url::COLUMN_ENCODING, &ColumnEncoding::default());
//! assert!(any.holds(type_url::COLUMN_ENCODING));
//! assert_eq!(ColumnEncoding::decode(any.value)?, ColumnEncoding::default());
//! # Ok::<(), prost::DecodeError>(())
//! ```

mod any;
pub mod type_url;

/// Makes a module of the messages that were generated for a package.
macro_rules! package {
    ($(#[$docs:meta])* $module:ident, $package:literal) => {
        $(#[$docs])*
        #[expect(missing_docs, reason = "generated: comments are where a name does not say it all")]
        pub mod $module {
            include!(concat!(env!("OUT_DIR"), "/", $package, ".rs"));
        }
    };
}

package! {
    /// The container of data files, the fields of schemas, and small messages for all packages.
    file, "lance.file"
}

package! {
    /// Encodings of 2.0 pages, and the column encoding of every version.
    encodings, "lance.encodings"
}

package! {
    /// Page layouts and compressive encodings of versions 2.1 and 2.2.
    encodings21, "lance.encodings21"
}

package! {
    /// Manifests, transactions, row ids, and the list of indices with the parameters of most kinds.
    table, "lance.table"
}

/// Parameters of the newer kinds of index, and the messages inside vector index files.
pub mod index {
    pub use pb::*;

    package! {
        /// The package as it is named on disk.
        pb, "lance.index.pb"
    }
}
