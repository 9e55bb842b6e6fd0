//! Dependencies of transactions, and cycles that an isolation level does not allow.
//!
//! The edges are those of Adya's thesis: *ww* from the writer of a version to the writer of the next one, *wr* from the writer of a
//! version to its reader, *rw* from the reader of a version to the writer of the next one; and *rt* in real time, from a transaction
//! that was answered to one that began later. READ COMMITTED has no cycle of ww, wr and rt; snapshot isolation none in which no two rw
//! follow each other; SERIALIZABLE none at all.

use crate::check::{History, others_before};
use crate::record::{Level, Outcome};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    WriteWrite(u64),
    WriteRead(u64),
    ReadWrite(u64),
    RealTime,
}

/// An edge, to a transaction.
#[derive(Clone, Copy, Debug)]
struct Edge {
    to: usize,
    kind: Kind,
}

/// Edges by the number of the transaction that they leave.
type Graph = Vec<Vec<Edge>>;

/// Looks for a cycle that the level does not allow.
pub fn check(level: Level, history: &History<'_>) -> Result<(), String> {
    let graph = dependencies(history);
    // Nodes come in pairs: an even one is a transaction after which any edge but rw may follow (all, if the level needs
    // no care), an odd one a transaction that was reached by another edge than rw, after which rw may follow.
    let edges = |node: usize| -> Vec<(usize, Edge)> {
        let (transaction, rw) = (node / 2, node % 2 == 1);
        let mut next = Vec::new();
        for edge in &graph[transaction] {
            let is_rw = matches!(edge.kind, Kind::ReadWrite(_));
            match level {
                Level::ReadUncommitted | Level::ReadCommitted if is_rw => {}
                Level::RepeatableRead if rw != is_rw => {}
                Level::RepeatableRead if !is_rw => {
                    next.extend([(edge.to * 2, *edge), (edge.to * 2 + 1, *edge)]);
                }
                _ => next.push((edge.to * 2, *edge)),
            }
        }
        next
    };
    match find_cycle(graph.len() * 2, edges) {
        None => Ok(()),
        Some(cycle) => {
            let kinds: Vec<Kind> = cycle.iter().map(|(_, edge)| edge.kind).collect();
            let mut text = format!("{}, a cycle that {} does not allow:", phenomenon(&kinds), level.name());
            for (node, edge) in cycle {
                text.push_str(&format!("\n  {}\n    {:?} to", history.transactions[node / 2], edge.kind));
            }
            Err(text + " the first")
        }
    }
}

/// What a cycle of these edges is called.
pub fn phenomenon(kinds: &[Kind]) -> &'static str {
    let has = |wanted: fn(&Kind) -> bool| kinds.iter().any(wanted);
    let anti = kinds.iter().filter(|kind| matches!(kind, Kind::ReadWrite(_))).count();
    match anti {
        0 if has(|kind| *kind == Kind::RealTime) => "G1 in real time",
        0 if has(|kind| matches!(kind, Kind::WriteRead(_))) => "G1c",
        0 => "G0",
        1 => "G-single",
        // Reads by a condition are reads of each list that it may find, so that there is no other G2.
        _ => "G2",
    }
}

fn dependencies(history: &History<'_>) -> Graph {
    let mut graph: Graph = vec![Vec::new(); history.transactions.len()];
    let mut add = |from: usize, to: usize, kind| {
        if from != to {
            graph[from].push(Edge { to, kind });
        }
    };
    for (key, versions) in &history.lists {
        for pair in versions.writers.windows(2) {
            add(pair[0], pair[1], Kind::WriteWrite(*key));
        }
    }
    for (number, transaction) in history.transactions.iter().enumerate() {
        // What a transaction read that has not happened is checked elsewhere: others do not depend on it.
        if !history.happened[number] {
            continue;
        }
        for at in 0..transaction.operations.len() {
            let Some((key, others)) = others_before(transaction, at) else { continue };
            let writers = &history.lists[&key].writers;
            if others > 0 {
                add(writers[others - 1], number, Kind::WriteRead(key));
            }
            if let Some(next) = writers[others..].iter().find(|writer| **writer != number) {
                add(number, *next, Kind::ReadWrite(key));
            }
        }
    }
    add_real_time(history, &mut add);
    graph
}

/// Edges from the transactions that were answered last before a transaction began. Paths through these reach all earlier ones.
fn add_real_time(history: &History<'_>, add: &mut impl FnMut(usize, usize, Kind)) {
    let mut events = Vec::new();
    for (number, transaction) in history.transactions.iter().enumerate() {
        if history.happened[number] {
            events.push((transaction.began, true, number));
            // When one ended that was not answered is not known.
            if transaction.outcome == Outcome::Committed {
                events.push((transaction.ended, false, number));
            }
        }
    }
    events.sort_unstable();
    let mut latest: Vec<usize> = Vec::new();
    let mut reaches: Vec<Vec<usize>> = vec![Vec::new(); history.transactions.len()];
    for (_, begins, number) in events {
        if begins {
            latest.iter().for_each(|from| add(*from, number, Kind::RealTime));
            reaches[number] = latest.clone();
        } else {
            latest.retain(|earlier| !reaches[number].contains(earlier));
            latest.push(number);
        }
    }
}

/// A cycle, as its nodes with the edges that leave them; found by going down as far as possible from every node.
fn find_cycle(nodes: usize, edges: impl Fn(usize) -> Vec<(usize, Edge)>) -> Option<Vec<(usize, Edge)>> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut states = vec![State::New; nodes];
    for start in 0..nodes {
        if states[start] != State::New {
            continue;
        }
        states[start] = State::Open;
        // A node, the edges that it has left, and the one that was taken last.
        let mut path = vec![(start, edges(start), None)];
        while let Some((node, left, taken)) = path.last_mut() {
            let Some((next, edge)) = left.pop() else {
                states[*node] = State::Done;
                path.pop();
                continue;
            };
            *taken = Some(edge);
            match states[next] {
                State::Done => {}
                State::New => {
                    states[next] = State::Open;
                    let left = edges(next);
                    path.push((next, left, None));
                }
                State::Open => {
                    let begin = path.iter().position(|(node, ..)| *node == next).unwrap_or(0);
                    return Some(path[begin..].iter().filter_map(|(node, _, edge)| Some((*node, (*edge)?))).collect());
                }
            }
        }
    }
    None
}
