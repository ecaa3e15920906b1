//! What an operation touches, as data, and the one rule that compares two of them.
//!
//! The rule follows what the reference implementation was measured to do, and is stricter in one
//! place: an append that raced a change of a column's type is refused, because the appended
//! values would lie under the column's former id and read as nulls.

use std::collections::BTreeSet;

use pennon_proto::table as proto;
use proto::transaction::Operation as Wire;

/// What an operation touches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Footprint {
    pub(crate) name: &'static str,
    /// Fragments whose deletions change and whose files stay.
    pub(crate) marks: BTreeSet<u64>,
    /// Fragments that are removed, moved, or whose files change.
    pub(crate) rewrites: BTreeSet<u64>,
    /// The ids of the fields that new fragments store.
    pub(crate) stores: BTreeSet<i32>,
    pub(crate) schema: SchemaEffect,
    pub(crate) scope: Scope,
}

/// What an operation does to the schema.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum SchemaEffect {
    /// Nothing.
    #[default]
    Keeps,
    /// Columns go or are renamed; data written before still fits.
    Projects,
    /// Columns are added or cast, with these field ids afterwards; data written before still
    /// fits unless it stores a field that went away.
    Merges { keeps: BTreeSet<i32> },
    /// Data written before may not fit: a column became required.
    Tightens { rewrites_fragments: bool },
}

/// How much of the dataset an operation is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Some fragments, rows or settings.
    #[default]
    Part,
    /// Everything is replaced by something new.
    Overwrite,
    /// Everything is replaced by an older version.
    Restore,
    /// What it did is not known.
    Opaque,
}

/// What a comparison comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Ours commits on top of theirs.
    Compatible,
    /// Ours commits once its deletions are united with theirs.
    Rebase,
    /// Ours must be done again on the newest version.
    Retry,
    /// Ours makes no sense any more.
    Incompatible,
}

/// Whether `ours` can be committed after `theirs`, which it did not know of.
pub(crate) fn compare(ours: &Footprint, theirs: &Footprint) -> Verdict {
    match (ours.scope, theirs.scope) {
        (_, Scope::Opaque) => return Verdict::Incompatible,
        (Scope::Restore, _) => return Verdict::Compatible,
        (Scope::Overwrite, Scope::Overwrite) => return Verdict::Retry,
        (Scope::Overwrite, _) => return Verdict::Compatible,
        (_, Scope::Overwrite | Scope::Restore) => return Verdict::Incompatible,
        _ => {}
    }
    if schemas_clash(ours, theirs) {
        return Verdict::Retry;
    }
    let touched = |theirs: &BTreeSet<u64>| {
        !ours.marks.is_disjoint(theirs) || !ours.rewrites.is_disjoint(theirs)
    };
    if touched(&theirs.rewrites) || !ours.rewrites.is_disjoint(&theirs.marks) {
        return Verdict::Retry;
    }
    match ours.marks.is_disjoint(&theirs.marks) {
        true => Verdict::Compatible,
        false => Verdict::Rebase,
    }
}

fn schemas_clash(ours: &Footprint, theirs: &Footprint) -> bool {
    let appends = !ours.stores.is_empty();
    let changes_rows = !ours.marks.is_empty() || !ours.rewrites.is_empty();
    match &theirs.schema {
        SchemaEffect::Keeps | SchemaEffect::Projects => false,
        SchemaEffect::Merges { keeps } => {
            changes_rows || (appends && !ours.stores.is_subset(keeps))
        }
        SchemaEffect::Tightens { rewrites_fragments } => {
            appends || (changes_rows && *rewrites_fragments)
        }
    }
}

impl Footprint {
    /// What a stored transaction touches.
    pub(crate) fn of(transaction: Option<&proto::Transaction>) -> Self {
        match transaction.and_then(|transaction| transaction.operation.as_ref()) {
            Some(operation) => of_operation(operation),
            None => Self {
                name: "Unknown",
                scope: Scope::Opaque,
                ..Self::default()
            },
        }
    }
}

fn of_operation(operation: &Wire) -> Footprint {
    let named = |name| Footprint {
        name,
        ..Footprint::default()
    };
    match operation {
        Wire::Append(append) => Footprint {
            stores: stored(&append.fragments),
            ..named("Append")
        },
        Wire::Delete(delete) => Footprint {
            marks: ids(&delete.updated_fragments),
            rewrites: delete.deleted_fragment_ids.iter().copied().collect(),
            ..named("Delete")
        },
        Wire::Update(update) => of_update(update),
        Wire::Overwrite(_) => Footprint {
            scope: Scope::Overwrite,
            ..named("Overwrite")
        },
        Wire::Restore(_) => Footprint {
            scope: Scope::Restore,
            ..named("Restore")
        },
        Wire::Rewrite(rewrite) => {
            let groups = rewrite.groups.iter().flat_map(|group| &group.old_fragments);
            let old = groups.chain(&rewrite.old_fragments);
            Footprint {
                rewrites: old.map(|fragment| fragment.id).collect(),
                ..named("Rewrite")
            }
        }
        Wire::DataReplacement(replacement) => Footprint {
            rewrites: replacement
                .replacements
                .iter()
                .map(|group| group.fragment_id)
                .collect(),
            ..named("DataReplacement")
        },
        Wire::Merge(merge) => Footprint {
            schema: match merge.preserves_nullability {
                true => SchemaEffect::Merges {
                    keeps: merge.schema.iter().map(|f| f.id).collect(),
                },
                false => SchemaEffect::Tightens {
                    rewrites_fragments: true,
                },
            },
            ..named("Merge")
        },
        Wire::Project(project) => Footprint {
            schema: match project.preserves_nullability {
                true => SchemaEffect::Projects,
                false => SchemaEffect::Tightens {
                    rewrites_fragments: false,
                },
            },
            ..named("Project")
        },
        Wire::UpdateMemWalState(_) => Footprint {
            scope: Scope::Opaque,
            ..named("UpdateMemWalState")
        },
        Wire::CreateIndex(_) => named("CreateIndex"),
        Wire::ReserveFragments(_) => named("ReserveFragments"),
        Wire::UpdateConfig(_) => named("UpdateConfig"),
        Wire::Clone(_) => named("Clone"),
        Wire::UpdateBases(_) => named("UpdateBases"),
        Wire::DataOverlay(_) => named("DataOverlay"),
    }
}

fn of_update(update: &proto::transaction::Update) -> Footprint {
    use proto::transaction::update::UpdateMode;
    let mut footprint = Footprint {
        name: "Update",
        rewrites: update.removed_fragment_ids.iter().copied().collect(),
        stores: stored(&update.new_fragments),
        ..Footprint::default()
    };
    let updated = ids(&update.updated_fragments);
    match update.update_mode() {
        UpdateMode::RewriteRows => footprint.marks = updated,
        UpdateMode::RewriteColumns => footprint.rewrites.extend(updated),
    }
    footprint
}

fn ids(fragments: &[proto::DataFragment]) -> BTreeSet<u64> {
    fragments.iter().map(|fragment| fragment.id).collect()
}

fn stored(fragments: &[proto::DataFragment]) -> BTreeSet<i32> {
    fragments
        .iter()
        .flat_map(|fragment| &fragment.files)
        .flat_map(|f| f.fields.clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use proto::transaction as wire;

    use super::*;

    fn fragment(id: u64) -> proto::DataFragment {
        let file = proto::DataFile {
            fields: vec![0],
            ..proto::DataFile::default()
        };
        proto::DataFragment {
            id,
            files: vec![file],
            ..proto::DataFragment::default()
        }
    }

    fn append() -> Wire {
        Wire::Append(wire::Append {
            fragments: vec![fragment(0)],
        })
    }

    fn delete(updated: u64) -> Wire {
        Wire::Delete(wire::Delete {
            updated_fragments: vec![fragment(updated)],
            ..wire::Delete::default()
        })
    }

    fn delete_whole(id: u64) -> Wire {
        Wire::Delete(wire::Delete {
            deleted_fragment_ids: vec![id],
            ..wire::Delete::default()
        })
    }

    fn update_rows(updated: u64) -> Wire {
        Wire::Update(wire::Update {
            updated_fragments: vec![fragment(updated)],
            new_fragments: vec![fragment(0)],
            ..wire::Update::default()
        })
    }

    fn update_columns(updated: u64) -> Wire {
        Wire::Update(wire::Update {
            updated_fragments: vec![fragment(updated)],
            update_mode: wire::update::UpdateMode::RewriteColumns.into(),
            ..wire::Update::default()
        })
    }

    fn rewrite(old: u64) -> Wire {
        let group = wire::rewrite::RewriteGroup {
            old_fragments: vec![fragment(old)],
            new_fragments: vec![fragment(9)],
        };
        Wire::Rewrite(wire::Rewrite {
            groups: vec![group],
            ..wire::Rewrite::default()
        })
    }

    fn replacement(id: u64) -> Wire {
        let group = wire::data_replacement::DataReplacementGroup {
            fragment_id: id,
            new_file: None,
        };
        Wire::DataReplacement(wire::DataReplacement {
            replacements: vec![group],
        })
    }

    fn merge(preserves_nullability: bool, field: i32) -> Wire {
        let schema = vec![pennon_proto::file::Field {
            id: field,
            ..Default::default()
        }];
        Wire::Merge(wire::Merge {
            preserves_nullability,
            schema,
            ..wire::Merge::default()
        })
    }

    fn project(preserves_nullability: bool) -> Wire {
        Wire::Project(wire::Project {
            preserves_nullability,
            ..wire::Project::default()
        })
    }

    /// What committing `ours` after `theirs` comes to.
    fn after(ours: &Wire, theirs: &Wire) -> Verdict {
        compare(&of_operation(ours), &of_operation(theirs))
    }

    /// What an append, a delete of rows of fragment 1, an overwrite and a restore come to after
    /// each kind of operation.
    #[test]
    fn the_measured_matrix_holds() {
        use Verdict::{Compatible as Ok, Incompatible as In, Rebase, Retry};
        let overwrite = Wire::Overwrite(wire::Overwrite::default());
        let restore = Wire::Restore(wire::Restore::default());
        let theirs: Vec<(&str, Wire, [Verdict; 4])> = vec![
            ("append", append(), [Ok, Ok, Ok, Ok]),
            ("delete, same fragment", delete(1), [Ok, Rebase, Ok, Ok]),
            ("delete, other fragment", delete(2), [Ok, Ok, Ok, Ok]),
            (
                "delete of the whole fragment",
                delete_whole(1),
                [Ok, Retry, Ok, Ok],
            ),
            (
                "update rows, same fragment",
                update_rows(1),
                [Ok, Rebase, Ok, Ok],
            ),
            (
                "update rows, other fragment",
                update_rows(2),
                [Ok, Ok, Ok, Ok],
            ),
            (
                "update columns, same fragment",
                update_columns(1),
                [Ok, Retry, Ok, Ok],
            ),
            (
                "update columns, other fragment",
                update_columns(2),
                [Ok, Ok, Ok, Ok],
            ),
            ("overwrite", overwrite.clone(), [In, In, Retry, Ok]),
            (
                "create index",
                Wire::CreateIndex(Default::default()),
                [Ok, Ok, Ok, Ok],
            ),
            ("rewrite, same fragment", rewrite(1), [Ok, Retry, Ok, Ok]),
            ("rewrite, other fragment", rewrite(2), [Ok, Ok, Ok, Ok]),
            (
                "data replacement, same fragment",
                replacement(1),
                [Ok, Retry, Ok, Ok],
            ),
            (
                "data replacement, other fragment",
                replacement(2),
                [Ok, Ok, Ok, Ok],
            ),
            (
                "data overlay",
                Wire::DataOverlay(Default::default()),
                [Ok, Ok, Ok, Ok],
            ),
            ("merge that preserves", merge(true, 0), [Ok, Retry, Ok, Ok]),
            ("merge that casts", merge(true, 5), [Retry, Retry, Ok, Ok]),
            (
                "merge that tightens",
                merge(false, 0),
                [Retry, Retry, Ok, Ok],
            ),
            ("project that preserves", project(true), [Ok, Ok, Ok, Ok]),
            ("project that tightens", project(false), [Retry, Ok, Ok, Ok]),
            ("restore", restore.clone(), [In, In, Ok, Ok]),
            (
                "reserve fragments",
                Wire::ReserveFragments(Default::default()),
                [Ok, Ok, Ok, Ok],
            ),
            (
                "update config",
                Wire::UpdateConfig(Default::default()),
                [Ok, Ok, Ok, Ok],
            ),
            (
                "mem wal",
                Wire::UpdateMemWalState(Default::default()),
                [In, In, In, In],
            ),
            ("clone", Wire::Clone(Default::default()), [Ok, Ok, Ok, Ok]),
            (
                "update bases",
                Wire::UpdateBases(Default::default()),
                [Ok, Ok, Ok, Ok],
            ),
        ];
        let ours = [append(), delete(1), overwrite, restore];
        for (name, theirs, expected) in &theirs {
            let verdicts: Vec<_> = ours.iter().map(|ours| after(ours, theirs)).collect();
            assert_eq!(verdicts, expected, "after {name}");
        }
    }

    #[test]
    fn an_unknown_operation_blocks_everything() {
        let unknown = Footprint::of(Some(&proto::Transaction::default()));
        for ours in [append(), delete(1), Wire::Restore(Default::default())] {
            assert_eq!(
                compare(&of_operation(&ours), &unknown),
                Verdict::Incompatible
            );
        }
        assert_eq!(Footprint::of(None).scope, Scope::Opaque);
    }

    #[test]
    fn deleting_a_fragment_that_lost_rows_meanwhile_is_done_again() {
        assert_eq!(after(&delete_whole(1), &delete(1)), Verdict::Retry);
        assert_eq!(after(&delete_whole(1), &delete(2)), Verdict::Compatible);
    }
}
