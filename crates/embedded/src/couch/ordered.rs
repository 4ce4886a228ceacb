//! Document ids in order, with ranks: a list of short sorted lists of ordinals.
//!
//! Four bytes per document; finding a range or its offset does not visit every document.

/// Ordinals per block before it is split.
const BLOCK: usize = 512;

/// Ordinals of documents in the order of their ids, which are looked up with the caller's `name`.
#[derive(Debug, Default)]
pub(crate) struct Ordered {
    blocks: Vec<Vec<u32>>,
}

impl Ordered {
    /// Orders `ordinals` by their names.
    pub(crate) fn build<'a>(mut ordinals: Vec<u32>, name: impl Fn(u32) -> &'a str) -> Self {
        ordinals.sort_unstable_by(|a, b| name(*a).cmp(name(*b)));
        Self { blocks: ordinals.chunks(BLOCK / 2).map(<[u32]>::to_vec).collect() }
    }

    pub(crate) fn len(&self) -> usize {
        self.blocks.iter().map(Vec::len).sum()
    }

    /// Adds an ordinal whose name does not exist yet.
    pub(crate) fn insert<'a>(&mut self, ordinal: u32, name: impl Fn(u32) -> &'a str) {
        let Some((index, position)) = self.locate(name(ordinal), &name) else {
            self.blocks.push(vec![ordinal]);
            return;
        };
        let block = &mut self.blocks[index];
        block.insert(position, ordinal);
        if block.len() > BLOCK {
            let upper = block.split_off(BLOCK / 2);
            self.blocks.insert(index + 1, upper);
        }
    }

    pub(crate) fn remove<'a>(&mut self, ordinal: u32, name: impl Fn(u32) -> &'a str) {
        let Some((index, position)) = self.locate(name(ordinal), &name) else { return };
        let block = &mut self.blocks[index];
        if block.get(position) == Some(&ordinal) {
            block.remove(position);
            if block.is_empty() {
                self.blocks.remove(index);
            }
        }
    }

    /// The number of names smaller than `bound`.
    pub(crate) fn rank<'a>(&self, bound: &str, name: impl Fn(u32) -> &'a str) -> usize {
        self.locate(bound, &name).map_or(0, |(index, position)| {
            self.blocks[..index].iter().map(Vec::len).sum::<usize>() + position
        })
    }

    /// The ordinals with ranks `from..to`, iterable from both ends.
    pub(crate) fn range(&self, from: usize, to: usize) -> impl DoubleEndedIterator<Item = u32> {
        let mut start = 0;
        let mut parts = Vec::new();
        for block in &self.blocks {
            let end = start + block.len();
            if end > from && start < to {
                let part = &block[from.saturating_sub(start)..block.len().min(to - start)];
                parts.push(part);
            }
            start = end;
        }
        parts.into_iter().flatten().copied()
    }

    /// The block and the position in it where `bound` is or would be; `None` only without blocks.
    fn locate<'a>(&self, bound: &str, name: &impl Fn(u32) -> &'a str) -> Option<(usize, usize)> {
        let after = self.blocks.partition_point(|block| name(block[0]) <= bound);
        let index = after.saturating_sub(1);
        let block = self.blocks.get(index)?;
        Some((index, block.partition_point(|ordinal| name(*ordinal) < bound)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn it_agrees_with_a_tree() {
        let names: Vec<String> = (0..5000_u32).map(|n| format!("{}", n * 7919 % 5000)).collect();
        let name = |ordinal: u32| names[ordinal as usize].as_str();
        let mut ordered = Ordered::build((0..1000).collect(), name);
        let mut tree: BTreeSet<&str> = (0..1000).map(name).collect();
        for ordinal in 1000..5000 {
            ordered.insert(ordinal, name);
            tree.insert(name(ordinal));
        }
        for ordinal in (0..5000).step_by(3) {
            ordered.remove(ordinal, name);
            tree.remove(name(ordinal));
        }
        assert_eq!(ordered.len(), tree.len());
        let all: Vec<&str> = ordered.range(0, usize::MAX).map(name).collect();
        assert_eq!(all, tree.iter().copied().collect::<Vec<_>>());
        for bound in ["", "1", "25", "2500", "4999", "x"] {
            assert_eq!(ordered.rank(bound, name), tree.range(..bound).count(), "{bound}");
        }
        let part: Vec<&str> = ordered.range(700, 1500).rev().map(name).collect();
        assert_eq!(part, tree.iter().copied().skip(700).take(800).rev().collect::<Vec<_>>());
    }
}
