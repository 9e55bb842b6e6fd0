//! The graph: nodes, levels and their links.

use crate::arrays::Arrays;
use crate::measure::{distance, padded, prepare};
use crate::visited::Visited;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use squall_types::vector::{DIMENSION_BYTES, Metric};
use std::sync::Arc;

/// Fewest neighbours of a node on upper levels.
pub const LINKS_MIN: u8 = 3;
/// Neighbours of a node, if the definition gives no M.
pub const LINKS_DEFAULT: u8 = 16;
/// Most of them.
pub const LINKS_MAX: u8 = 200;

/// Levels that a node can be on beside the lowest.
pub(crate) const LEVELS_MAX: usize = 30;

/// What a node takes beside its key, numbers and neighbours, roughly.
const NODE_BYTES: usize = 112;

/// Vectors by keys, and which of them are near to each other.
///
/// Each vector is a node. On the lowest level it has up to twice `links` neighbours, on each further one, which has one of `links` nodes of
/// the level below, up to `links`. A search goes from the top level down, on each to the nearest node that it meets, and looks
/// around on the lowest. What is removed stays as a node that searches pass.
#[derive(Debug)]
pub struct Graph {
    pub(crate) metric: Metric,
    dimensions: usize,
    /// Neighbours on upper levels.
    pub(crate) links: usize,
    vectors: Arrays<f32>,
    /// The lowest level: how many neighbours a node has, and which.
    lowest: Arrays<u32>,
    pub(crate) nodes: Vec<Node>,
    by_key: FxHashMap<Arc<[u8]>, u32>,
    key_bytes: usize,
    /// Where searches begin: a node of the top level.
    pub(crate) entry: Option<u32>,
    /// Kept for their memory.
    pub(crate) visited: Mutex<Vec<Visited>>,
}

/// A node.
#[derive(Debug)]
pub(crate) struct Node {
    key: Arc<[u8]>,
    pub is_removed: bool,
    /// Its neighbours on the levels above the lowest.
    pub upper: Box<[Vec<u32>]>,
}

impl Graph {
    /// A graph without vectors. `links` is taken to be within [`LINKS_MIN`] and [`LINKS_MAX`].
    pub fn new(metric: Metric, dimensions: usize, links: u8) -> Graph {
        let links = usize::from(links.clamp(LINKS_MIN, LINKS_MAX));
        Graph {
            metric,
            dimensions,
            links,
            vectors: Arrays::new(padded(dimensions)),
            lowest: Arrays::new(2 * links + 1),
            nodes: Vec::new(),
            by_key: FxHashMap::default(),
            key_bytes: 0,
            entry: None,
            visited: Mutex::default(),
        }
    }

    /// Dimensions of its vectors.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Vectors that it has.
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// Nodes of vectors that are gone, which searches pass.
    pub fn removed_count(&self) -> usize {
        self.nodes.len() - self.by_key.len()
    }

    /// Bytes that it takes, roughly.
    pub fn bytes(&self) -> usize {
        self.vectors.bytes() + self.lowest.bytes() + self.nodes.len() * NODE_BYTES + self.key_bytes
    }

    /// Adds a vector, whose bytes are of the graph's dimensions, in the place of the key's earlier one.
    pub fn insert(&mut self, key: &[u8], vector: &[u8]) {
        debug_assert_eq!(vector.len(), self.dimensions * DIMENSION_BYTES, "a vector of other dimensions");
        self.remove(key);
        let id = self.nodes.len() as u32;
        let key: Arc<[u8]> = key.into();
        self.key_bytes += key.len();
        self.by_key.insert(key.clone(), id);
        prepare(self.metric, vector, self.vectors.push_default());
        self.lowest.push_default();
        let upper = (0..self.levels_of(id)).map(|_| Vec::new()).collect();
        self.nodes.push(Node { key, is_removed: false, upper });
        self.link(id);
    }

    /// Takes the vector of a key away; whether it had one.
    pub fn remove(&mut self, key: &[u8]) -> bool {
        let removed = self.by_key.remove(key);
        if let Some(id) = removed {
            self.nodes[id as usize].is_removed = true;
        }
        removed.is_some()
    }

    /// The keys of up to `width` vectors that are near to one, whose bytes are of the graph's dimensions: the nearest first.
    pub fn nearest(&self, vector: &[u8], width: usize) -> Vec<Arc<[u8]>> {
        let mut query = vec![0.0; padded(self.dimensions)];
        prepare(self.metric, vector, &mut query);
        self.search(&query, width).into_iter().map(|near| self.nodes[near.id as usize].key.clone()).collect()
    }

    /// The numbers of a node.
    pub(crate) fn vector(&self, id: u32) -> &[f32] {
        self.vectors.get(id)
    }

    /// How far two nodes are apart.
    pub(crate) fn between(&self, left: u32, right: u32) -> f32 {
        distance(self.metric, self.vector(left), self.vector(right))
    }

    /// Neighbours of a node on a level, from 0.
    pub(crate) fn neighbours(&self, id: u32, level: usize) -> &[u32] {
        match level.checked_sub(1) {
            Some(above) => self.nodes[id as usize].upper.get(above).map_or(&[], Vec::as_slice),
            None => {
                let links = self.lowest.get(id);
                &links[1..=links[0] as usize]
            }
        }
    }

    pub(crate) fn set_neighbours(&mut self, id: u32, level: usize, neighbours: &[u32]) {
        match level.checked_sub(1) {
            Some(above) => {
                if let Some(list) = self.nodes[id as usize].upper.get_mut(above) {
                    list.clear();
                    list.extend_from_slice(neighbours);
                }
            }
            None => {
                let links = self.lowest.get_mut(id);
                links[0] = neighbours.len() as u32;
                links[1..=neighbours.len()].copy_from_slice(neighbours);
            }
        }
    }

    /// Most neighbours on a level.
    pub(crate) fn links_max(&self, level: usize) -> usize {
        if level == 0 { 2 * self.links } else { self.links }
    }

    /// The top level of a node.
    pub(crate) fn top(&self, id: u32) -> usize {
        self.nodes[id as usize].upper.len()
    }

    /// How many levels beside the lowest a new node is on: at each one of `links` nodes goes on. It is decided by its number, so that equal
    /// vectors in an equal order make equal graphs.
    fn levels_of(&self, id: u32) -> usize {
        let mut bits = u64::from(id).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^= bits >> 31;
        let uniform = (bits >> 11) as f64 / (1_u64 << 53) as f64;
        let levels = -uniform.max(f64::MIN_POSITIVE).ln() / (self.links as f64).ln();
        (levels as usize).min(LEVELS_MAX)
    }
}
