// SPDX-License-Identifier: Apache-2.0
//! [`Sparse`]: what is known of each register at one place, shared with other places.
//!
//! A data flow has a state for each block, and a method may have as many registers as blocks. So a
//! state is a tree: copies share what they have in common, joining looks only at what differs.
//! Memory grows with what instructions write, not with blocks × registers.

use std::rc::Rc;

/// Children of a node, and values of a leaf.
const WIDTH: usize = 16;
const SHIFT: u32 = WIDTH.trailing_zeros();

/// Values by number; one that was not set has the default. The default is what a join gives
/// whenever one side has it.
#[derive(Clone, Debug)]
pub(crate) struct Sparse<T> {
    root: Link<T>,
    /// Levels of inner nodes.
    depth: u32,
}

type Link<T> = Option<Rc<Node<T>>>;

#[derive(Clone, Debug)]
enum Node<T> {
    Inner([Link<T>; WIDTH]),
    Leaf([T; WIDTH]),
}

fn place(index: usize, level: u32) -> usize {
    index >> (SHIFT * level) & (WIDTH - 1)
}

impl<T: Clone + PartialEq + Default> Sparse<T> {
    /// For numbers below `count`.
    pub(crate) fn new(count: usize) -> Self {
        let mut depth = 0;
        while WIDTH << (SHIFT * depth) < count {
            depth += 1;
        }
        Self { root: None, depth }
    }

    /// Its value; nothing if it has the default.
    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        if index >> (SHIFT * (self.depth + 1)) != 0 {
            return None;
        }
        let (mut link, mut level) = (&self.root, self.depth);
        loop {
            match link.as_deref()? {
                Node::Inner(children) => link = &children[place(index, level)],
                Node::Leaf(values) => return Some(&values[place(index, 0)]),
            }
            level = level.saturating_sub(1);
        }
    }

    pub(crate) fn set(&mut self, index: usize, value: T) {
        assert!(index >> (SHIFT * (self.depth + 1)) == 0, "it has a place");
        let (mut link, mut level) = (&mut self.root, self.depth);
        loop {
            let node = link.get_or_insert_with(|| {
                Rc::new(match level {
                    0 => Node::Leaf(core::array::from_fn(|_| T::default())),
                    _ => Node::Inner([const { None }; WIDTH]),
                })
            });
            match Rc::make_mut(node) {
                Node::Inner(children) => link = &mut children[place(index, level)],
                Node::Leaf(values) => {
                    values[place(index, 0)] = value;
                    return;
                }
            }
            level -= 1;
        }
    }

    /// Takes in what another path brings; says whether anything changed. `join` gives what comes of
    /// two values that differ, or nothing if that is the first.
    pub(crate) fn join(&mut self, other: &Self, join: &impl Fn(&T, &T) -> Option<T>) -> bool {
        debug_assert_eq!(self.depth, other.depth);
        join_links(&mut self.root, &other.root, join)
    }

    /// Calls `each` for every value that is not the default, in order.
    pub(crate) fn for_each(&self, mut each: impl FnMut(usize, &T)) {
        walk(&self.root, self.depth, 0, &T::default(), &mut each);
    }
}

fn is_same<T>(own: &Link<T>, other: &Link<T>) -> bool {
    match (own, other) {
        (None, None) => true,
        (Some(own), Some(other)) => Rc::ptr_eq(own, other),
        _ => false,
    }
}

fn is_default<T: PartialEq + Default>(link: &Link<T>) -> bool {
    match link.as_deref() {
        None => true,
        Some(Node::Inner(children)) => children.iter().all(is_default),
        Some(Node::Leaf(values)) => values.iter().all(|it| *it == T::default()),
    }
}

fn join_links<T: Clone + PartialEq + Default>(
    own: &mut Link<T>,
    other: &Link<T>,
    join: &impl Fn(&T, &T) -> Option<T>,
) -> bool {
    if own.is_none() || is_same(own, other) {
        return false;
    }
    let Some(more) = other else {
        let has_changed = !is_default(own);
        *own = None;
        return has_changed;
    };
    let node = own.as_mut().expect("looked at above");
    match (&**node, &**more) {
        (Node::Leaf(values), Node::Leaf(others)) => {
            if values == others {
                // What follows from here finds them to be the same at once.
                *own = other.clone();
                return false;
            }
            let pairs = values.iter().zip(others).enumerate();
            let differ = pairs.filter(|(_, (own, other))| own != other);
            let changes: Vec<(usize, T)> = differ
                .filter_map(|(index, (own, other))| Some((index, join(own, other)?)))
                .collect();
            let has_changed = !changes.is_empty();
            if let (true, Node::Leaf(values)) = (has_changed, Rc::make_mut(node)) {
                for (index, value) in changes {
                    values[index] = value;
                }
            }
            has_changed
        }
        (Node::Inner(children), Node::Inner(others)) => {
            let mut pairs = children.iter().zip(others);
            if pairs.all(|(own, other)| is_same(own, other)) {
                *own = other.clone();
                return false;
            }
            let Node::Inner(children) = Rc::make_mut(node) else {
                unreachable!("it is one")
            };
            let mut has_changed = false;
            for (child, other) in children.iter_mut().zip(others) {
                has_changed |= join_links(child, other, join);
            }
            has_changed
        }
        _ => unreachable!("trees of the same depth"),
    }
}

fn walk<T: PartialEq>(
    link: &Link<T>,
    level: u32,
    first: usize,
    default: &T,
    each: &mut impl FnMut(usize, &T),
) {
    match link.as_deref() {
        None => {}
        Some(Node::Inner(children)) => {
            for (index, child) in children.iter().enumerate() {
                let first = first + (index << (SHIFT * level));
                walk(child, level - 1, first, default, each);
            }
        }
        Some(Node::Leaf(values)) => {
            let set = values.iter().enumerate().filter(|(_, it)| *it != default);
            set.for_each(|(index, value)| each(first + index, value));
        }
    }
}

impl<T: PartialEq + Default> PartialEq for Sparse<T> {
    fn eq(&self, other: &Self) -> bool {
        fn are_equal<T: PartialEq + Default>(own: &Link<T>, other: &Link<T>) -> bool {
            match (own, other) {
                (Some(own), Some(other)) => {
                    Rc::ptr_eq(own, other)
                        || match (&**own, &**other) {
                            (Node::Leaf(own), Node::Leaf(other)) => own == other,
                            (Node::Inner(own), Node::Inner(other)) => own
                                .iter()
                                .zip(other)
                                .all(|(own, other)| are_equal(own, other)),
                            _ => false,
                        }
                }
                (own, None) => is_default(own),
                (None, other) => is_default(other),
            }
        }
        are_equal(&self.root, &other.root)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: usize = 5_000;

    fn both(own: &u64, other: &u64) -> Option<u64> {
        Some(own & other).filter(|it| it != own)
    }

    /// Beside plain vectors, by random sets, copies and joins.
    #[test]
    fn a_tree_is_a_vector() {
        let mut random = fastrand::Rng::with_seed(20_261_123);
        let mut trees = vec![Sparse::<u64>::new(COUNT); 4];
        let mut vectors = vec![vec![0_u64; COUNT]; 4];
        for _ in 0..40_000 {
            let (own, other) = (random.usize(..4), random.usize(..4));
            match random.u8(..40) {
                0 => {
                    trees[own] = trees[other].clone();
                    vectors[own] = vectors[other].clone();
                }
                1 => {
                    let more = trees[other].clone();
                    let has_changed = trees[own].join(&more, &both);
                    let joined: Vec<u64> = vectors[own]
                        .iter()
                        .zip(&vectors[other])
                        .map(|(own, other)| own & other)
                        .collect();
                    assert_eq!(has_changed, joined != vectors[own]);
                    vectors[own] = joined;
                }
                2 => assert_eq!(trees[own] == trees[other], vectors[own] == vectors[other]),
                _ => {
                    // Many near each other, and few values: so that states meet again.
                    let index = random.usize(..COUNT) >> random.u8(..9);
                    let value = u64::from(random.u8(..4));
                    trees[own].set(index, value);
                    vectors[own][index] = value;
                }
            }
        }
        for (tree, vector) in trees.iter().zip(&vectors) {
            let found = (0..COUNT).map(|index| tree.get(index).copied().unwrap_or(0));
            assert!(found.eq(vector.iter().copied()));
            let mut set = vec![0; COUNT];
            tree.for_each(|index, &value| set[index] = value);
            assert_eq!(set, *vector);
        }
        assert_eq!(trees[0].get(1 << 30), None);
    }
}
