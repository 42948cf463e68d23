//! Lists of names: what was added, what was taken out, and whether what stayed stands in another order.

/// How two lists of names differ.
pub(super) struct Names<'n> {
    pub(super) added: Vec<&'n str>,
    pub(super) gone: Vec<&'n str>,
    /// What stayed, in the new order, if that is another.
    pub(super) reordered: Option<Vec<&'n str>>,
}

impl<'n> Names<'n> {
    pub(super) fn compare(old: &[&'n str], new: &[&'n str]) -> Self {
        let without = |one: &[&'n str], other: &[&'n str]| -> Vec<&'n str> {
            let left = one.iter().filter(|name| !other.contains(name));
            left.copied().collect()
        };
        let (gone, added) = (without(old, new), without(new, old));
        let (before, after) = (without(old, &gone), without(new, &added));
        Self {
            added,
            gone,
            reordered: (before != after).then_some(after),
        }
    }
}
