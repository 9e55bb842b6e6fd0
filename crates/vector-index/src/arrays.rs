//! Arrays of one width, by number: the data of each node of a graph.

/// Arrays in one block of memory. A larger number of them is in several blocks, so that none is ever copied.
const ARRAYS_PER_BLOCK: usize = 1024;

/// Arrays of one width.
#[derive(Debug)]
pub struct Arrays<T> {
    width: usize,
    blocks: Vec<Vec<T>>,
    len: usize,
}

impl<T: Copy + Default> Arrays<T> {
    /// None yet.
    pub fn new(width: usize) -> Arrays<T> {
        Arrays { width, blocks: Vec::new(), len: 0 }
    }

    /// Adds one, of default values.
    pub fn push_default(&mut self) -> &mut [T] {
        let at = self.len;
        if at.is_multiple_of(ARRAYS_PER_BLOCK) {
            self.blocks.push(Vec::with_capacity(self.width * ARRAYS_PER_BLOCK));
        }
        if let Some(block) = self.blocks.last_mut() {
            block.resize(block.len() + self.width, T::default());
        }
        self.len += 1;
        self.get_mut(at as u32)
    }

    /// One of them.
    pub fn get(&self, at: u32) -> &[T] {
        let (block, start) = self.place(at);
        &self.blocks[block][start..start + self.width]
    }

    /// One of them, to be changed.
    pub fn get_mut(&mut self, at: u32) -> &mut [T] {
        let (block, start) = self.place(at);
        &mut self.blocks[block][start..start + self.width]
    }

    fn place(&self, at: u32) -> (usize, usize) {
        let at = at as usize;
        (at / ARRAYS_PER_BLOCK, at % ARRAYS_PER_BLOCK * self.width)
    }

    /// Bytes that they take.
    pub fn bytes(&self) -> usize {
        self.blocks.len() * ARRAYS_PER_BLOCK * self.width * size_of::<T>()
    }
}
