//! Names that are nearly the one asked for.

/// How many names are offered.
const OFFERED: usize = 3;

/// Longer names are not compared.
const LONGEST: usize = 128;

/// The candidates that `name` may be a misspelling of, nearest first, at most three.
///
/// Case does not count. Two names are near when a third of the letters, or fewer, would have to
/// be inserted, removed, replaced or swapped with their neighbour.
///
/// ```
/// let columns = ["name", "price", "id"];
/// assert_eq!(pennon_expr::nearest_names("nmae", columns.into_iter()), ["name"]);
/// ```
pub fn nearest_names<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = letters(name);
    let tolerance = (wanted.len() / 3).max(1);
    let mut near: Vec<(usize, &str)> = candidates
        .map(|candidate| (letters(candidate), candidate))
        .filter(|(letters, _)| {
            letters.len().max(wanted.len()) <= LONGEST
                && letters.len().abs_diff(wanted.len()) <= tolerance
        })
        .map(|(letters, candidate)| (distance(&wanted, &letters), candidate))
        .filter(|(distance, _)| *distance <= tolerance && *distance < wanted.len().max(1))
        .collect();
    near.sort_by_key(|(distance, _)| *distance);
    near.truncate(OFFERED);
    near.into_iter().map(|(_, candidate)| candidate).collect()
}

fn letters(name: &str) -> Vec<char> {
    name.chars()
        .take(LONGEST + 1)
        .flat_map(char::to_lowercase)
        .collect()
}

/// Insertions, removals, replacements and swaps of neighbours that turn one word into the other.
fn distance(left: &[char], right: &[char]) -> usize {
    let mut before: Vec<usize> = vec![0; right.len() + 1];
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.iter().enumerate() {
        let mut row = Vec::with_capacity(right.len() + 1);
        row.push(i + 1);
        for (j, b) in right.iter().enumerate() {
            let replaced = last[j] + usize::from(a != b);
            let mut best = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == right[j - 1] && left[i - 1] == *b {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_single_edits() {
        let cases = [
            ("", "", 0),
            ("a", "", 1),
            ("abc", "abc", 0),
            ("abc", "acb", 1),
            ("kitten", "sitting", 3),
        ];
        for (left, right, expected) in cases {
            assert_eq!(
                distance(&letters(left), &letters(right)),
                expected,
                "{left} {right}"
            );
        }
    }

    #[test]
    fn near_names_come_nearest_first_and_far_ones_not_at_all() {
        let names = ["price", "prices", "prince", "quantity"];
        assert_eq!(
            nearest_names("pricse", names.into_iter()),
            ["price", "prices", "prince"]
        );
        assert!(nearest_names("x", names.into_iter()).is_empty());
        assert_eq!(
            nearest_names("PRICE", names.into_iter()).first(),
            Some(&"price")
        );
    }

    #[test]
    fn huge_names_are_not_compared() {
        let huge = "x".repeat(1_000_000);
        assert!(nearest_names(&huge, [huge.as_str()].into_iter()).is_empty());
    }
}
