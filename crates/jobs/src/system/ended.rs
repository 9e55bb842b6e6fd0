//! A cache of durable jobs that have ended, for sessions that ask for their results. Mostly the session that queued a job asks, and
//! soon.

use crate::system::queue::Live;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Memory that they may take, bytes.
const BYTES_MAX: usize = 8 << 20;

/// The jobs of a kind with the highest numbers of those that have ended.
#[derive(Debug, Default)]
pub(crate) struct EndedJobs {
    jobs: BTreeMap<u64, (Arc<Live>, usize)>,
    bytes: usize,
}

impl EndedJobs {
    /// Keeps a job whose end is durable.
    pub fn insert(&mut self, job: &Arc<Live>) {
        let bytes = job.bytes();
        self.remove(job.number);
        self.jobs.insert(job.number, (job.clone(), bytes));
        self.bytes += bytes;
        while self.bytes > BYTES_MAX
            && let Some((_, (_, bytes))) = self.jobs.pop_first()
        {
            self.bytes -= bytes;
        }
    }

    /// The job of a number, if it is still there.
    pub fn get(&self, number: u64) -> Option<Arc<Live>> {
        self.jobs.get(&number).map(|(job, _)| job.clone())
    }

    /// Forgets a job.
    pub fn remove(&mut self, number: u64) {
        if let Some((_, bytes)) = self.jobs.remove(&number) {
            self.bytes -= bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::job::{JobInfo, JobState};

    #[test]
    fn the_oldest_go_first() {
        let job = |number| {
            let info = JobInfo {
                kind: "k".to_string(),
                number,
                state: JobState::Done,
                priority: 0,
                owner: String::new(),
                attempts: 1,
                created_micros: 0,
                started_micros: None,
                finished_micros: None,
                progress: (0, 0),
                error: None,
                output_bytes: Some(0),
            };
            Arc::new(Live::new(&info, None, Some(vec![0; BYTES_MAX / 4])))
        };
        let mut ended = EndedJobs::default();
        (1..=4).for_each(|number| ended.insert(&job(number)));
        let found = |ended: &EndedJobs| (1..=4).filter(|number| ended.get(*number).is_some()).collect::<Vec<_>>();
        assert_eq!(found(&ended), [2, 3, 4]);
        ended.remove(3);
        ended.insert(&job(4));
        assert_eq!(found(&ended), [2, 4]);
        ended.remove(2);
        ended.remove(4);
        assert_eq!(ended.bytes, 0);
    }
}
