//! A Lance dataset's versions: manifests, fragments, deletion vectors, transactions, commits
