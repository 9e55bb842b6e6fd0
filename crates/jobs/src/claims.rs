//! Claims of workers: the next process reads which jobs were running when this one ended.
//!
//! Each worker of a kind has a record of the jobs that it has begun and whose ends are not yet in the store's log. It overwrites the
//! record without waiting, because the log has the record before anything that the job commits. A job was running if such a record
//! names it, and its row is still queued without this attempt.

use squall_row_store::SystemRecords;
use squall_types::{SqlError, SqlResult};
use std::collections::HashMap;

/// The records of all kinds; their keys are the kind's name, a zero byte, and the place.
const CLAIMS: &str = "job_claim";

/// Bytes of a claim in a record.
const CLAIM_BYTES: usize = 20;

/// A job that a worker has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    pub number: u64,
    /// Which attempt it is, from 1.
    pub attempt: u32,
    /// When it began, microseconds since 1970 UTC.
    pub started_micros: i64,
}

impl Claim {
    fn encode(self) -> [u8; CLAIM_BYTES] {
        let mut bytes = [0; CLAIM_BYTES];
        bytes[..8].copy_from_slice(&self.number.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.attempt.to_le_bytes());
        bytes[12..].copy_from_slice(&self.started_micros.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> SqlResult<Claim> {
        let damaged = || SqlError::internal("a record of a worker of jobs is damaged");
        let (number, rest) = bytes.split_first_chunk().ok_or_else(damaged)?;
        let (attempt, rest) = rest.split_first_chunk().ok_or_else(damaged)?;
        let started: [u8; 8] = rest.try_into().map_err(|_| damaged())?;
        Ok(Claim {
            number: u64::from_le_bytes(*number),
            attempt: u32::from_le_bytes(*attempt),
            started_micros: i64::from_le_bytes(started),
        })
    }
}

/// Says which jobs the worker of a place has begun.
pub(crate) fn write(records: &dyn SystemRecords, kind: &str, place: u16, claims: &[Claim]) -> SqlResult<()> {
    let key = [kind.as_bytes(), &[0], &place.to_be_bytes()].concat();
    let record: Vec<u8> = claims.iter().flat_map(|claim| claim.encode()).collect();
    records.note_system(CLAIMS, &key, &record)
}

/// The jobs that the workers of a kind have begun and may not have come to the end of, by their numbers.
pub(crate) fn claims(records: &dyn SystemRecords, kind: &str) -> SqlResult<HashMap<u64, Claim>> {
    let prefix = [kind.as_bytes(), &[0]].concat();
    let written = records.system_records(CLAIMS)?.into_iter().filter(|(key, _)| key.starts_with(&prefix));
    let mut found: HashMap<u64, Claim> = HashMap::new();
    for (_, record) in written {
        for bytes in record.chunks(CLAIM_BYTES) {
            let claim = Claim::decode(bytes)?;
            let last = found.entry(claim.number).or_insert(claim);
            if claim.attempt > last.attempt {
                *last = claim;
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_read_as_they_were_written() {
        let claim = Claim { number: u64::MAX - 1, attempt: 7, started_micros: -5 };
        let bytes = claim.encode();
        assert_eq!(Claim::decode(&bytes).expect("a claim"), claim);
        for end in 0..bytes.len() {
            assert!(Claim::decode(&bytes[..end]).is_err(), "{end}");
        }
    }
}
