//! The set of nodes that a search has visited.

/// Nodes that a search has met: those whose number is the search's.
#[derive(Debug, Default)]
pub struct Visited {
    marks: Vec<u32>,
    search: u32,
}

impl Visited {
    /// Begins a search in a graph of this many nodes.
    pub fn begin(&mut self, nodes: usize) {
        self.marks.resize(nodes.max(self.marks.len()), 0);
        self.search = self.search.wrapping_add(1);
        if self.search == 0 {
            self.marks.fill(0);
            self.search = 1;
        }
    }

    /// Whether a node is met for the first time.
    pub fn is_first(&mut self, id: u32) -> bool {
        std::mem::replace(&mut self.marks[id as usize], self.search) != self.search
    }
}
