//! Checks whether an isolation level allows a history of transactions on lists.
//!
//! Elements are only appended, so the final list tells the order of all its versions. First the check looks for anomalies that no level
//! allows: a read of a rolled-back element, or of a part of a transaction; a lost element that was read or acknowledged; a transaction
//! that is there in part; a read of a version that was out of date when the statement was sent. Then it looks for a cycle of
//! dependencies (`dependencies`).

use crate::dependencies;
use crate::record::{Level, List, Operation, Outcome, Transaction};
use crate::statements::Kinds;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

/// How much was checked.
#[derive(Default)]
pub struct Counts {
    pub rounds: u64,
    /// By what reads and appends were done.
    pub kinds: Kinds,
    pub definitions: u64,
    pub committed: u64,
    pub aborted: u64,
    pub unknown: u64,
    pub reads: u64,
    pub appends: u64,
}

impl Counts {
    pub fn add(&mut self, other: &Counts) {
        self.committed += other.committed;
        other.kinds.iter().for_each(|(kind, count)| *self.kinds.entry(kind).or_default() += count);
        self.definitions += other.definitions;
        self.aborted += other.aborted;
        self.unknown += other.unknown;
        self.reads += other.reads;
        self.appends += other.appends;
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} rounds, {} transactions committed, {} rolled back, {} unknown, {} reads, {} appends, {} definitions",
            self.rounds, self.committed, self.aborted, self.unknown, self.reads, self.appends, self.definitions
        )?;
        self.kinds.iter().try_for_each(|(kind, count)| write!(f, "; {count} × {kind}"))
    }
}

/// A list in the end, and whose its elements are.
pub struct Versions<'a> {
    pub last: &'a List,
    /// By the element's place: the number of its transaction.
    pub writers: Vec<usize>,
}

/// All lists in the end.
pub struct History<'a> {
    pub transactions: &'a [Transaction],
    pub lists: HashMap<u64, Versions<'a>>,
    /// Those that have happened, as far as the record shows: by number.
    pub happened: Vec<bool>,
}

/// What a read found of others' elements: how many there were.
pub fn others_before(transaction: &Transaction, at: usize) -> Option<(u64, usize)> {
    let Operation::Read { key, found, .. } = &transaction.operations[at] else { return None };
    let own = own_before(transaction, at, *key).count();
    Some((*key, found.len() - own.min(found.len())))
}

fn own_before(transaction: &Transaction, at: usize, list: u64) -> impl DoubleEndedIterator<Item = u64> {
    transaction.operations[..at].iter().filter_map(move |operation| match operation {
        Operation::Append { key, element } if *key == list => Some(*element),
        _ => None,
    })
}

/// Checks a history; `last` is what each list is in the end.
pub fn check(level: Level, transactions: &[Transaction], last: &HashMap<u64, List>) -> Result<Counts, String> {
    let history = History::new(transactions, last)?;
    let mut counts = Counts::default();
    for (number, transaction) in transactions.iter().enumerate() {
        match transaction.outcome {
            Outcome::Committed => counts.committed += 1,
            Outcome::Aborted => counts.aborted += 1,
            Outcome::Unknown => counts.unknown += 1,
        }
        history.check_appends(number).map_err(|wrong| format!("{wrong}\n  {transaction}"))?;
        for at in 0..transaction.operations.len() {
            match transaction.operations[at] {
                Operation::Append { .. } => counts.appends += 1,
                Operation::Read { .. } => counts.reads += 1,
            }
            history.check_read(number, at).map_err(|wrong| format!("{wrong}\n  {transaction}"))?;
        }
        if !level.reads_newest() {
            check_one_snapshot(transaction).map_err(|wrong| format!("{wrong}\n  {transaction}"))?;
        }
    }
    history.check_freshness(level)?;
    dependencies::check(level, &history)?;
    Ok(counts)
}

impl<'a> History<'a> {
    fn new(transactions: &'a [Transaction], last: &'a HashMap<u64, List>) -> Result<History<'a>, String> {
        let mut writer_of = HashMap::new();
        for (number, transaction) in transactions.iter().enumerate() {
            for operation in &transaction.operations {
                if let Operation::Append { key, element } = operation {
                    writer_of.insert((*key, *element), number);
                }
            }
        }
        let mut happened: Vec<bool> = transactions.iter().map(|it| it.outcome == Outcome::Committed).collect();
        let mut lists = HashMap::new();
        for (key, last) in last {
            let mut writers = Vec::with_capacity(last.len());
            for element in last {
                let Some(writer) = writer_of.get(&(*key, *element)) else {
                    return Err(format!("list {key} has {element}, which no client appended"));
                };
                if transactions[*writer].outcome == Outcome::Aborted {
                    return Err(format!(
                        "list {key} has {element}, which was rolled back\n  {}",
                        transactions[*writer]
                    ));
                }
                happened[*writer] = true;
                writers.push(*writer);
            }
            if last.iter().collect::<HashSet<_>>().len() < last.len() {
                return Err(format!("list {key} has an element twice: {last:?}"));
            }
            lists.insert(*key, Versions { last, writers });
        }
        Ok(History { transactions, lists, happened })
    }

    /// All that a transaction appended is there, together and in its order, if it has happened.
    fn check_appends(&self, number: usize) -> Result<(), String> {
        let transaction = &self.transactions[number];
        if !self.happened[number] {
            return Ok(());
        }
        for (key, versions) in &self.lists {
            let appended: Vec<u64> = transaction.appended(*key).collect();
            let Some(first) = appended.first() else { continue };
            let Some(at) = versions.last.iter().position(|element| element == first) else {
                return Err(format!("list {key} has lost {first}"));
            };
            if versions.last.get(at..at + appended.len()) != Some(&appended[..]) {
                return Err(format!("list {key} has {appended:?} in part, or something between"));
            }
        }
        Ok(())
    }

    /// A read finds a version that has been, and the transaction's own elements behind it.
    fn check_read(&self, number: usize, at: usize) -> Result<(), String> {
        let transaction = &self.transactions[number];
        let Some((key, others)) = others_before(transaction, at) else { return Ok(()) };
        let Operation::Read { found, .. } = &transaction.operations[at] else { return Ok(()) };
        let own: Vec<u64> = own_before(transaction, at, key).collect();
        if found[others..] != own[..] {
            return Err(format!("list {key} does not end with the transaction's own {own:?}: {found:?}"));
        }
        let versions = self.lists.get(&key).ok_or_else(|| format!("there is no list {key}"))?;
        if versions.last.get(..others) != Some(&found[..others]) {
            let gone = found[..others].iter().find(|element| !versions.last.contains(element));
            return Err(format!("list {key} was seen with {gone:?}, which is gone, or in another order: {found:?}"));
        }
        // The last one seen of another transaction is the last one that it appended.
        if others > 0 {
            let writer = versions.writers[others - 1];
            if writer != number && versions.writers.get(others) == Some(&writer) {
                return Err(format!("list {key} was seen in the middle of\n  {}", self.transactions[writer]));
            }
        }
        Ok(())
    }

    /// A statement sees all that was acknowledged before it was sent, or before its transaction began; and a client never
    /// sees a list shorter than before.
    fn check_freshness(&self, level: Level) -> Result<(), String> {
        for (key, versions) in &self.lists {
            // When the first elements were all acknowledged, for each number of them.
            let mut acknowledged: Vec<(Duration, usize)> = Vec::new();
            for (at, writer) in versions.writers.iter().enumerate() {
                if self.transactions[*writer].outcome == Outcome::Committed {
                    acknowledged.push((self.transactions[*writer].ended, at + 1));
                }
            }
            acknowledged.sort_unstable();
            for at in 1..acknowledged.len() {
                acknowledged[at].1 = acknowledged[at].1.max(acknowledged[at - 1].1);
            }
            let least = |moment: Duration| {
                let before = acknowledged.partition_point(|(ended, _)| *ended < moment);
                before.checked_sub(1).map_or(0, |at| acknowledged[at].1)
            };
            let mut seen: HashMap<u64, usize> = HashMap::new();
            for transaction in self.transactions {
                for at in 0..transaction.operations.len() {
                    let Some((_, others)) = others_before(transaction, at).filter(|(list, _)| list == key) else {
                        continue;
                    };
                    let Operation::Read { sent, .. } = transaction.operations[at] else { continue };
                    let moment = if level.reads_newest() { sent } else { transaction.began };
                    let before = seen.entry(transaction.client).or_default();
                    if others < least(moment) || others < *before {
                        return Err(format!("list {key} was seen as it was long ago\n  {transaction}"));
                    }
                    *before = others;
                }
            }
        }
        Ok(())
    }
}

/// With one snapshot for the transaction, a list stays as it was first read.
fn check_one_snapshot(transaction: &Transaction) -> Result<(), String> {
    let mut seen = HashMap::new();
    for at in 0..transaction.operations.len() {
        let Some((key, others)) = others_before(transaction, at) else { continue };
        if *seen.entry(key).or_insert(others) != others {
            return Err(format!("list {key} has changed within a transaction"));
        }
    }
    Ok(())
}
