//! Searches find most of the nearest vectors, also after changes.

use crate::{Graph, LINKS_DEFAULT};
use squall_types::vector::Metric;
use std::collections::HashSet;

/// Numbers that look random, the same each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 40) as f32 / (1 << 24) as f32 - 0.5
    }

    fn vector(&mut self, dimensions: usize) -> Vec<f32> {
        (0..dimensions).map(|_| self.next()).collect()
    }
}

fn bytes(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// Vectors around centres, as embeddings are.
fn clustered(count: usize, dimensions: usize, centres: usize, random: &mut Random) -> Vec<Vec<u8>> {
    let centres: Vec<Vec<f32>> = (0..centres).map(|_| random.vector(dimensions)).collect();
    let around = |at: usize, random: &mut Random| -> Vec<f32> {
        centres[at % centres.len()].iter().map(|centre| centre + random.next() * 0.3).collect()
    };
    (0..count).map(|at| bytes(&around(at, random))).collect()
}

fn key(at: usize) -> Vec<u8> {
    (at as u32).to_be_bytes().to_vec()
}

fn number(key: &[u8]) -> usize {
    u32::from_be_bytes(key.try_into().expect("four bytes")) as usize
}

/// The share of the ten nearest that searches of a width find.
fn recall(graph: &Graph, vectors: &[Vec<u8>], queries: &[Vec<u8>], metric: Metric, width: usize) -> f64 {
    let mut found = 0;
    for query in queries {
        let mut order: Vec<(f64, usize)> = vectors
            .iter()
            .enumerate()
            .map(|(at, vector)| (metric.distance(query, vector).expect("equal dimensions"), at))
            .collect();
        order.sort_by(|left, right| left.partial_cmp(right).expect("numbers"));
        let nearest: HashSet<usize> = order[..10].iter().map(|(_, at)| *at).collect();
        found += graph.nearest(query, width).iter().take(10).filter(|key| nearest.contains(&number(key))).count();
    }
    found as f64 / (queries.len() * 10) as f64
}

#[test]
fn most_of_the_nearest_are_found() {
    let mut random = Random(42);
    for metric in [Metric::Euclidean, Metric::Cosine, Metric::Dot] {
        let all = clustered(2_050, 24, 20, &mut random);
        let (vectors, queries) = all.split_at(2_000);
        let mut graph = Graph::new(metric, 24, LINKS_DEFAULT);
        for (at, vector) in vectors.iter().enumerate() {
            graph.insert(&key(at), vector);
        }
        let recall = recall(&graph, vectors, queries, metric, 64);
        assert!(recall >= 0.95, "{metric:?}: {recall}");
    }
}

#[test]
fn what_is_removed_or_replaced_is_not_found() {
    let mut random = Random(7);
    let vectors = clustered(600, 8, 5, &mut random);
    let mut graph = Graph::new(Metric::Euclidean, 8, 4);
    for (at, vector) in vectors.iter().enumerate() {
        graph.insert(&key(at), vector);
    }
    for at in (0..600).filter(|at| at % 3 != 0) {
        assert!(graph.remove(&key(at)));
        assert!(!graph.remove(&key(at)));
    }
    graph.insert(&key(0), &vectors[1]);
    assert_eq!((graph.len(), graph.removed_count()), (200, 401));
    let all: HashSet<usize> = graph.nearest(&vectors[1], 1_000).iter().map(|key| number(key)).collect();
    assert_eq!(all, (0..600).step_by(3).collect());
    assert_eq!(graph.nearest(&vectors[1], 1).iter().map(|key| number(key)).collect::<Vec<_>>(), [0]);
}

#[test]
fn a_graph_without_vectors_and_one_of_equal_ones() {
    let mut graph = Graph::new(Metric::Cosine, 3, LINKS_DEFAULT);
    let zero = bytes(&[0.0; 3]);
    assert!(graph.nearest(&zero, 5).is_empty() && graph.is_empty());
    for at in 0..500 {
        graph.insert(&key(at), &zero);
    }
    assert_eq!(graph.nearest(&zero, 10).len(), 10);
    assert_eq!(graph.nearest(&zero, 1_000).len(), 500);
}

#[test]
fn numbers_beyond_squares_have_distances() {
    let mut graph = Graph::new(Metric::Dot, 2, LINKS_DEFAULT);
    for (at, numbers) in [[f32::MAX, f32::MAX], [f32::MAX, f32::MIN], [1.0, 1.0]].iter().enumerate() {
        graph.insert(&key(at), &bytes(numbers));
    }
    assert_eq!(graph.nearest(&bytes(&[f32::MAX, f32::MIN]), 3).len(), 3);
}

/// `SQUALL_VECTORS=100000 cargo test -p squall-vector-index -- measured --nocapture`, with an optimized build.
#[test]
fn measured() {
    let Some(count) = std::env::var("SQUALL_VECTORS").ok().and_then(|count| count.parse::<usize>().ok()) else {
        return;
    };
    let mut random = Random(99);
    let all = clustered(count + 100, 128, 300, &mut random);
    let (vectors, queries) = all.split_at(count);
    for metric in [Metric::Euclidean, Metric::Cosine] {
        let started = std::time::Instant::now();
        let mut graph = Graph::new(metric, 128, LINKS_DEFAULT);
        for (at, vector) in vectors.iter().enumerate() {
            graph.insert(&key(at), vector);
        }
        println!("{metric:?}: {count} vectors in {:?}, {} MiB", started.elapsed(), graph.bytes() >> 20);
        for width in [10, 40, 64, 128, 256] {
            let started = std::time::Instant::now();
            queries.iter().for_each(|query| _ = graph.nearest(query, width));
            let elapsed = started.elapsed() / queries.len() as u32;
            println!("  width {width}: recall {:.3}, {elapsed:?}", recall(&graph, vectors, queries, metric, width));
        }
    }
}
