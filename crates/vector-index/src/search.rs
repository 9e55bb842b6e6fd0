//! Searches the graph.

use crate::graph::Graph;
use crate::measure::distance;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A node and how far it is from what is searched for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Near {
    pub distance: f32,
    pub id: u32,
}

impl PartialEq for Near {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Near {}

impl PartialOrd for Near {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Near {
    fn cmp(&self, other: &Self) -> Ordering {
        // Of equal ones the newer is kept. Otherwise no neighbour would link to later nodes.
        self.distance.total_cmp(&other.distance).then(other.id.cmp(&self.id))
    }
}

/// Which nodes a search gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// All.
    Nodes,
    /// Those that are not removed.
    Vectors,
}

impl Graph {
    /// Up to `width` vectors near to one, the nearest first.
    pub(crate) fn search(&self, query: &[f32], width: usize) -> Vec<Near> {
        let Some(entry) = self.entry else { return Vec::new() };
        let mut near = self.near(query, entry);
        for level in (1..=self.top(entry)).rev() {
            near = self.descend(query, near, level);
        }
        self.around(query, &[near], width, 0, Wanted::Vectors)
    }

    pub(crate) fn near(&self, query: &[f32], id: u32) -> Near {
        Near { distance: distance(self.metric, query, self.vector(id)), id }
    }

    /// The nearest node of a level that steps from node to node come to, each nearer than the one before.
    pub(crate) fn descend(&self, query: &[f32], from: Near, level: usize) -> Near {
        let mut nearest = from;
        loop {
            let neighbours = self.neighbours(nearest.id, level).iter().map(|id| self.near(query, *id));
            match neighbours.min().filter(|next| next.distance < nearest.distance) {
                Some(next) => nearest = next,
                None => return nearest,
            }
        }
    }

    /// Up to `width` nodes of a level near to a vector, the nearest first: neighbours are looked at, and theirs, for as long as
    /// they are nearer than the farthest that is kept.
    pub(crate) fn around(&self, query: &[f32], from: &[Near], width: usize, level: usize, wanted: Wanted) -> Vec<Near> {
        let mut visited = self.visited.lock().pop().unwrap_or_default();
        visited.begin(self.nodes.len());
        let is_wanted = |near: &Near| wanted == Wanted::Nodes || !self.nodes[near.id as usize].is_removed;
        let mut open: BinaryHeap<Reverse<Near>> = from.iter().copied().map(Reverse).collect();
        let mut found: BinaryHeap<Near> = from.iter().copied().filter(is_wanted).collect();
        from.iter().for_each(|near| _ = visited.is_first(near.id));
        let width = width.max(1);
        while let Some(Reverse(next)) = open.pop() {
            if found.len() >= width && found.peek().is_some_and(|farthest| next.distance > farthest.distance) {
                break;
            }
            for id in self.neighbours(next.id, level) {
                if !visited.is_first(*id) {
                    continue;
                }
                let near = self.near(query, *id);
                let is_near = found.len() < width || found.peek().is_some_and(|farthest| near < *farthest);
                if !is_near {
                    continue;
                }
                open.push(Reverse(near));
                if is_wanted(&near) {
                    found.push(near);
                    if found.len() > width {
                        found.pop();
                    }
                }
            }
        }
        self.visited.lock().push(visited);
        found.into_sorted_vec()
    }
}
