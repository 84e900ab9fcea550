//! Nodes that wait to be split, and the class groups of their rows.

/// A node that waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Task {
    /// Its first row in the index array.
    pub(super) start: usize,
    /// How many rows of the bag it has.
    pub(super) len: usize,
    /// How many rows left out of the bag follow them.
    pub(super) n_held: usize,
    /// How many classes they have.
    pub(super) n_groups: usize,
    /// Splits above it.
    pub(super) depth: usize,
    /// Columns known to have one value in all of its rows.
    pub(super) n_constant: usize,
    /// The split above it and whether it is the right child.
    pub(super) parent: Option<(usize, bool)>,
    /// Whether the rows left out have been taken in, here or above.
    pub(super) knows_all: bool,
    /// Whether its rows are those of the copy nearby.
    pub(super) is_nearby: bool,
    /// Whether to look at all columns at once for those that are constant.
    pub(super) look_at_all: bool,
}

/// A run of rows of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) class: u16,
    pub(super) len: u32,
}

/// The groups of all waiting nodes, in the order of the stack, and buffers to reuse.
#[derive(Default)]
pub(super) struct Groups {
    waiting: Vec<Group>,
    spare: Vec<Group>,
    spare_lens: Vec<u32>,
}

impl Groups {
    pub(super) fn push(&mut self, groups: &[Group]) {
        self.waiting.extend_from_slice(groups);
    }

    /// Adds the groups of a node and returns how many there were.
    pub(super) fn push_with(&mut self, groups: impl Iterator<Item = Group>) -> usize {
        let before = self.waiting.len();
        self.waiting.extend(groups);
        self.waiting.len() - before
    }

    /// Takes the groups of the node on top of the stack.
    pub(super) fn pop(&mut self, n: usize) -> Vec<Group> {
        let mut groups = std::mem::take(&mut self.spare);
        groups.clear();
        groups.extend(self.waiting.drain(self.waiting.len() - n..));
        groups
    }

    /// Gives a buffer back.
    pub(super) fn recycle(&mut self, groups: Vec<Group>) {
        self.spare = groups;
    }

    /// An empty buffer for group lengths.
    pub(super) fn lens(&mut self) -> Vec<u32> {
        let mut lens = std::mem::take(&mut self.spare_lens);
        lens.clear();
        lens
    }

    /// Gives a buffer for group lengths back.
    pub(super) fn keep_lens(&mut self, lens: Vec<u32>) {
        self.spare_lens = lens;
    }
}
