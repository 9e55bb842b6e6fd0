//! Inserts nodes into the graph.

use crate::graph::Graph;
use crate::search::{Near, Wanted};

/// How wide the search is that finds a new node's neighbours, at least.
const WIDTH_MIN: usize = 100;

impl Graph {
    /// Gives a new node its neighbours, and them the node.
    pub(crate) fn link(&mut self, id: u32) {
        let Some(entry) = self.entry else {
            self.entry = Some(id);
            return;
        };
        let query = self.vector(id).to_vec();
        let (top, own_top) = (self.top(entry), self.top(id));
        let mut near = self.near(&query, entry);
        for level in (own_top + 1..=top).rev() {
            near = self.descend(&query, near, level);
        }
        let width = WIDTH_MIN.max(2 * self.links);
        let mut from = vec![near];
        for level in (0..=own_top.min(top)).rev() {
            from = self.around(&query, &from, width, level, Wanted::Nodes);
            let neighbours = self.chosen(&from, self.links);
            self.set_neighbours(id, level, &neighbours);
            for neighbour in neighbours {
                self.add_neighbour(neighbour, level, id);
            }
        }
        if own_top > top {
            self.entry = Some(id);
        }
    }

    fn add_neighbour(&mut self, of: u32, level: usize, id: u32) {
        let mut neighbours = self.neighbours(of, level).to_vec();
        let most = self.links_max(level);
        if neighbours.len() < most {
            neighbours.push(id);
        } else {
            let all = neighbours.iter().chain([&id]).map(|id| Near { distance: self.between(of, *id), id: *id });
            let mut all: Vec<Near> = all.collect();
            all.sort_unstable();
            neighbours = self.chosen(&all, most);
        }
        self.set_neighbours(of, level, &neighbours);
    }

    /// Which of nodes near to one become its neighbours; the nearest comes first. One that is nearer to another neighbour is left out, since that
    /// one leads there: so some neighbours lead out of the thick of things. Where these are few, the nearest of the others are taken, too.
    fn chosen(&self, nearest_first: &[Near], most: usize) -> Vec<u32> {
        let mut chosen: Vec<u32> = Vec::with_capacity(most);
        let mut others = Vec::new();
        for near in nearest_first {
            if chosen.len() == most {
                break;
            }
            if chosen.iter().all(|other| self.between(near.id, *other) >= near.distance) {
                chosen.push(near.id);
            } else {
                others.push(near.id);
            }
        }
        let room = most - chosen.len();
        chosen.extend(others.into_iter().take(room));
        chosen
    }
}
