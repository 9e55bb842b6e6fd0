//! Pages of a kind's jobs, in the order of their numbers.

use crate::system::Kind;
use crate::system::job::JobInfo;
use squall_types::SqlResult;
use std::iter::FusedIterator;
use std::ops::RangeInclusive;

/// Jobs that are read together, at most.
const PAGE: usize = 1000;
/// A page ends with the job whose payload brings it to this many bytes.
const PAGE_BYTES: usize = 16 << 20;

/// Jobs with their payloads, a page at a time: no more of them are in memory, however many there are. It ends behind the first error.
#[derive(Debug)]
pub struct Pages {
    kind: Kind,
    rest: Option<RangeInclusive<u64>>,
}

impl Iterator for Pages {
    type Item = SqlResult<Vec<(JobInfo, Vec<u8>)>>;

    fn next(&mut self) -> Option<Self::Item> {
        let numbers = self.rest.take()?;
        let end = *numbers.end();
        let page = self.kind.some(numbers, PAGE, PAGE_BYTES);
        if let Ok(jobs) = &page {
            // An empty page is behind the last one.
            let (last, _) = jobs.last()?;
            self.rest = last.number.checked_add(1).map(|next| next..=end);
        }
        Some(page)
    }
}

impl FusedIterator for Pages {}

impl Kind {
    /// The jobs with certain numbers, with their payloads, in the order of their numbers. Each page is read when it is asked for, so jobs that end or are submitted
    /// meanwhile may be seen either way.
    ///
    /// # Errors
    /// A page is an error when the store cannot be read.
    pub fn pages(&self, numbers: RangeInclusive<u64>) -> Pages {
        Pages { kind: self.clone(), rest: Some(numbers) }
    }

    /// All jobs in the order of their numbers, with their payloads.
    ///
    /// # Errors
    /// When the store cannot be read, or `each` fails.
    pub fn for_each(&self, each: impl FnMut(JobInfo, Vec<u8>) -> SqlResult<()>) -> SqlResult<()> {
        self.for_each_of(0..=u64::MAX, each)
    }

    /// [`Kind::for_each`] of those with certain numbers.
    ///
    /// # Errors
    /// The same.
    pub fn for_each_of(
        &self,
        numbers: RangeInclusive<u64>,
        mut each: impl FnMut(JobInfo, Vec<u8>) -> SqlResult<()>,
    ) -> SqlResult<()> {
        self.pages(numbers).try_for_each(|page| page?.into_iter().try_for_each(|(info, payload)| each(info, payload)))
    }
}
