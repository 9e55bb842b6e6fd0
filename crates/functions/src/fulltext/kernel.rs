//! The function behind MATCH … AGAINST.

use super::clause::word_range;
use super::relevance::Weights;
use super::search::Search;
use super::{Parser, clause};
use parking_lot::Mutex;
use squall_accounting::GrowingCharge;
use squall_registry::{KernelMemory, ScalarKernel};
use squall_statement_context::{FulltextKey, FulltextReader, StatementContext};
use squall_types::{CollationId, SqlError, SqlResult, Value, ngrams, words};
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::{Arc, Weak};

/// How the text behind AGAINST is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// IN NATURAL LANGUAGE MODE.
    Natural,
    /// IN BOOLEAN MODE.
    Boolean,
    /// WITH QUERY EXPANSION.
    Expanded,
}

impl Mode {
    /// The search for a text, as far as it can be told without rows.
    ///
    /// # Errors
    /// Those of [`Search::boolean`].
    pub fn search(self, parser: Parser, against: &str) -> SqlResult<Search> {
        match self {
            Mode::Boolean => Search::boolean(parser, against),
            Mode::Natural | Mode::Expanded => Ok(Search::natural(parser, against)),
        }
    }
}

/// `MATCH (columns) AGAINST (text)`: the columns, then the text.
pub struct MatchKernel {
    /// The FULLTEXT key of the columns.
    pub key: FulltextKey,
    /// How texts are taken apart.
    pub parser: Parser,
    /// How the text behind AGAINST is read.
    pub mode: Mode,
    /// Whether the relevance is wanted; otherwise the value is 1 or 0.
    pub ranked: bool,
    /// The last search: it is the same for all rows.
    kept: Mutex<Option<Kept>>,
}

struct Kept {
    against: String,
    /// What words were counted with, if they were.
    reader: Option<Weak<dyn FulltextReader>>,
    ready: Arc<Ready>,
}

/// A search with what its words weigh.
struct Ready {
    search: Search,
    weights: Weights,
    /// Memory of words that rows have given.
    _memory: Option<GrowingCharge>,
}

impl MatchKernel {
    /// The kernel of a key.
    pub fn new(key: FulltextKey, parser: Parser, mode: Mode) -> MatchKernel {
        MatchKernel { key, parser, mode, ranked: true, kept: Mutex::new(None) }
    }

    /// The same for a condition, which does not ask how well a row matches.
    pub fn unranked(&self) -> MatchKernel {
        MatchKernel { ranked: false, ..MatchKernel::new(self.key.clone(), self.parser, self.mode) }
    }

    /// The search for a text as an index can answer it; `None` if its words depend on rows, or if something is wrong with the text,
    /// which the filter says.
    pub fn search_by_index(&self, against: &str) -> Option<Search> {
        (self.mode != Mode::Expanded).then(|| self.mode.search(self.parser, against).ok()).flatten()
    }

    /// Whether rows come in the order of their relevance by themselves.
    pub fn orders_rows(&self) -> bool {
        self.parser != Parser::Json
    }

    fn depends_on_rows(&self) -> bool {
        self.mode == Mode::Expanded || self.ranked && self.parser != Parser::Json
    }

    fn ready(&self, against: &str, context: &StatementContext) -> SqlResult<Arc<Ready>> {
        let mut kept = self.kept.lock();
        if let Some(kept) = &*kept
            && kept.against == against
            && kept.reader.as_ref().map_or(!self.depends_on_rows(), |reader| context.fulltext.is(reader))
        {
            return Ok(kept.ready.clone());
        }
        let mut search = self.mode.search(self.parser, against)?;
        let (mut weights, mut memory, mut counted_with) = (Weights::default(), None, None);
        if self.depends_on_rows() {
            let Some(reader) = context.fulltext.get() else {
                return Err(SqlError::internal("MATCH outside of what reads a table"));
            };
            if self.mode == Mode::Expanded {
                let charge = memory.insert(GrowingCharge::new(&context.memory));
                search = self.expanded(&search, &*reader, context, charge)?;
            }
            if self.ranked {
                weights = Weights::count(&search, &self.key, &*reader)?;
            }
            counted_with = Some(Arc::downgrade(&reader));
        }
        let ready = Arc::new(Ready { search, weights, _memory: memory });
        *kept = Some(Kept { against: against.to_string(), reader: counted_with, ready: ready.clone() });
        Ok(ready)
    }

    /// A search for the words of all rows that another finds.
    fn expanded(
        &self,
        first: &Search,
        reader: &dyn FulltextReader,
        context: &StatementContext,
        memory: &mut GrowingCharge,
    ) -> SqlResult<Search> {
        let (Parser::Words(collation) | Parser::Ngrams(collation)) = self.parser else {
            return Err(SqlError::unsupported("WITH QUERY EXPANSION of documents"));
        };
        let mut known: HashSet<Vec<u8>> = HashSet::new();
        let mut all: Vec<String> = Vec::new();
        let mut add = |word: &str| {
            let key = words::key(word, collation);
            if !known.contains(&key) {
                memory.grow(key.len() + word.len() + WORD_BYTES)?;
                known.insert(key);
                all.push(word.to_string());
            }
            Ok::<(), SqlError>(())
        };
        let mut ranges = Vec::new();
        for clause in &first.clauses {
            let own = match &clause.what {
                clause::What::Word(word) => std::slice::from_ref(word),
                clause::What::Phrase(words) => words.as_slice(),
                _ => &[],
            };
            for word in own.iter().filter(|word| clause::is_filed(word, self.parser)) {
                add(word)?;
                ranges.push(word_range(word, collation));
            }
        }
        ranges.dedup_by(|left, right| left.low == right.low);
        reader.visit_texts(&self.key, &ranges, &mut |texts| {
            context.kill.check()?;
            let texts: Vec<Cow<'_, str>> = texts.iter().map(|text| Cow::Borrowed(text.as_str())).collect();
            if first.is_met(&texts) {
                texts.iter().try_for_each(|text| filed(text, self.parser, collation).try_for_each(&mut add))?;
            }
            Ok(())
        })?;
        Ok(Search::any_of(self.parser, all.into_iter()))
    }
}

/// Memory of a word that is searched for beyond its letters, roughly.
const WORD_BYTES: usize = 200;

/// The words of a text that an index has entries for.
fn filed<'t>(text: &'t str, parser: Parser, collation: CollationId) -> Box<dyn Iterator<Item = &'t str> + 't> {
    match parser {
        Parser::Ngrams(_) => Box::new(ngrams::pieces(text).filter(|piece| ngrams::is_filed(piece))),
        _ => Box::new(words::runs(text, collation).filter(|run| words::is_word(run))),
    }
}

impl std::fmt::Debug for MatchKernel {
    /// Kernels are told apart by what they print.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let MatchKernel { key, parser, mode, ranked, .. } = self;
        write!(f, "MatchKernel {{ key: {key:?}, parser: {parser:?}, mode: {mode:?}, ranked: {ranked} }}")
    }
}

impl ScalarKernel for MatchKernel {
    fn memory(&self) -> KernelMemory {
        KernelMemory::OfStatement
    }

    fn eval(&self, arguments: &[Value], context: &StatementContext) -> SqlResult<Value> {
        let Some((Value::String(against), columns)) = arguments.split_last() else { return Ok(Value::Double(0.0)) };
        let ready = self.ready(against, context)?;
        let texts: Vec<Cow<'_, str>> = columns
            .iter()
            .filter_map(|value| match value {
                Value::String(text) => Some(Cow::Borrowed(text.as_str())),
                Value::Json(document) => Some(document.text()),
                _ => None,
            })
            .collect();
        Ok(Value::Double(match self.ranked {
            true => ready.search.relevance(&texts, &ready.weights).unwrap_or(0.0),
            false => f64::from(u8::from(ready.search.is_met(&texts))),
        }))
    }
}
