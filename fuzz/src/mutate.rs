//! Makes new inputs from others.

use squall_test_support::random::Random;

/// The longest input.
const BYTES_MAX: usize = 1 << 14;

/// Lengths and numbers at whose edges code goes wrong.
const EDGES: &[u64] = &[
    0,
    1,
    7,
    0x7F,
    0x80,
    0xFB,
    0xFC,
    0xFF,
    0x7FFF,
    0xFFFF,
    0xFF_FFFF,
    0x7FFF_FFFF,
    0xFFFF_FFFF,
    i64::MAX as u64,
    u64::MAX,
];

/// Makes inputs of a corpus.
pub struct Mutator {
    random: Random,
    /// Words that inputs have.
    words: Vec<Vec<u8>>,
}

impl Mutator {
    /// One that takes words of the corpus.
    pub fn new(random: Random, corpus: &[Vec<u8>]) -> Mutator {
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let texts = corpus.iter().flat_map(|input| input.split(move |byte| !is_word(byte)));
        let mut words: Vec<Vec<u8>> = texts.filter(|word| word.len() > 1).map(|word| [word, b" "].concat()).collect();
        words.extend("()[]{}'`\"\\,;:.*@#-/%&|<>=!?~\n\0".bytes().map(|sign| vec![sign]));
        words.sort_unstable();
        words.dedup();
        Mutator { random, words }
    }

    fn below(&mut self, end: usize) -> usize {
        self.random.below(end.max(1) as u64) as usize
    }

    /// A changed input of the corpus. What has been found last is changed most.
    pub fn next(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        let at = match self.below(3) {
            0 => corpus.len() - 1 - self.below(corpus.len().min(64)),
            _ => self.below(corpus.len()),
        };
        let mut input = corpus[at].clone();
        for _ in 0..1 << self.below(4) {
            let other = &corpus[self.below(corpus.len())];
            self.change(&mut input, other);
        }
        input.truncate(BYTES_MAX);
        input
    }

    /// A place in an input, its end being one.
    fn place(&mut self, input: &[u8]) -> usize {
        self.below(input.len() + 1)
    }

    /// A few of an input's bytes.
    fn part(&mut self, input: &[u8]) -> std::ops::Range<usize> {
        let start = self.place(input);
        let longest = if self.below(4) == 0 { input.len() } else { 16 };
        start..start + self.below((input.len() - start).min(longest) + 1)
    }

    fn change(&mut self, input: &mut Vec<u8>, other: &[u8]) {
        let at = self.place(input);
        match self.below(9) {
            0 if at < input.len() => input[at] ^= 1 << self.below(8),
            1 if at < input.len() => input[at] = self.below(256) as u8,
            2 => drop(input.drain(self.part(input))),
            3 => {
                let part = self.part(other);
                drop(input.splice(at..at, other[part].iter().copied()));
            }
            4 => {
                let (part, from) = (self.part(input), self.part(other));
                drop(input.splice(part, other[from].iter().copied()));
            }
            5 => {
                let (edge, width) = (EDGES[self.below(EDGES.len())].to_le_bytes(), 1 << self.below(4));
                let end = (at + width).min(input.len());
                drop(input.splice(at..end, edge[..width].iter().copied()));
            }
            6 | 7 => {
                let word = self.below(self.words.len());
                drop(input.splice(at..at, self.words[word].iter().copied()));
            }
            _ => {
                // What is nested deep or repeated often.
                let part = self.part(input);
                let times = 1 << self.below(11);
                let times = times.min(BYTES_MAX / part.len().max(1));
                let repeated = input[part].repeat(times);
                drop(input.splice(at..at, repeated));
            }
        }
    }
}
