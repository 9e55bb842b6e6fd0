//! The directory of a segment: the places and checksums of all its parts.
//!
//! ```text
//! rows u32 | columns u32, then each:
//!   id u32 | name | type 3 bytes | form u8 (0 native, 1 raw)
//!   chunks of the row groups: offset u64, bytes u64, checksum u64 each
//!   dictionary: 0u8, or 1u8 and a block    index: 0u8, or 1u8 (bitmaps) or 2u8 (elements) and a block
//!   zone map
//! ```

use super::parquet_form::Form;
use super::{Block, ROW_GROUP_ROWS, SEGMENT_ROWS_MAX};
use crate::bytes::{DecodeResult, Decoder, Encoder};
use crate::domain::ColumnType;
use crate::zone_map::ZoneMap;

/// What a segment's file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Directory {
    pub(crate) rows: u32,
    pub(crate) columns: Vec<ColumnEntry>,
}

/// One column of a segment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ColumnEntry {
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) column_type: ColumnType,
    pub(super) form: Form,
    /// One per row group.
    pub(crate) chunks: Vec<Block>,
    pub(crate) dictionary: Option<Block>,
    pub(crate) index: Option<IndexBlock>,
    pub(crate) zones: ZoneMap,
}

/// The index of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum IndexBlock {
    /// Bitmaps.
    Bitmaps(Block),
    /// Lists of rows by elements.
    Elements(Block),
}

impl IndexBlock {
    pub(crate) fn block(self) -> Block {
        match self {
            IndexBlock::Bitmaps(block) | IndexBlock::Elements(block) => block,
        }
    }
}

/// Bytes of a column's entry at the least.
const COLUMN_BYTES_MIN: usize = 18;

impl Directory {
    pub(crate) fn row_groups(&self) -> usize {
        (self.rows as usize).div_ceil(ROW_GROUP_ROWS)
    }

    /// The directory as a block.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Encoder::default();
        out.u32(self.rows);
        out.u32(self.columns.len() as u32);
        for column in &self.columns {
            out.u32(column.id);
            out.counted(column.name.as_bytes());
            column.column_type.encode(&mut out);
            out.u8(match column.form {
                Form::Native => 0,
                Form::Raw => 1,
            });
            column.chunks.iter().for_each(|chunk| encode_block(*chunk, &mut out));
            let index = column.index.map(|index| match index {
                IndexBlock::Bitmaps(block) => (1, block),
                IndexBlock::Elements(block) => (2, block),
            });
            for block in [column.dictionary.map(|block| (1, block)), index] {
                out.u8(block.map_or(0, |(mark, _)| mark));
                if let Some((_, block)) = block {
                    encode_block(block, &mut out);
                }
            }
            column.zones.encode(&mut out);
        }
        out.bytes
    }

    /// Decodes the block of a directory.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub fn decode(bytes: &[u8]) -> Result<Directory, String> {
        let mut input = Decoder::new(bytes);
        let rows = input.u32()?;
        if rows as usize > SEGMENT_ROWS_MAX {
            return Err(format!("says that the segment has {rows} rows"));
        }
        let mut directory = Directory { rows, columns: Vec::new() };
        let columns = input.count(COLUMN_BYTES_MIN)?;
        for _ in 0..columns {
            let column = decode_column(&directory, &mut input)?;
            directory.columns.push(column);
        }
        input.finish()?;
        Ok(directory)
    }
}

fn decode_column(directory: &Directory, input: &mut Decoder<'_>) -> DecodeResult<ColumnEntry> {
    let id = input.u32()?;
    let name = input.text()?;
    let column_type = ColumnType::decode(input)?;
    let form = match input.u8()? {
        0 => Form::Native,
        1 => Form::Raw,
        code => return Err(format!("unknown form {code}")),
    };
    let chunks = (0..directory.row_groups()).map(|_| decode_block(input)).collect::<DecodeResult<Vec<_>>>()?;
    let dictionary = match input.u8()? {
        0 => None,
        1 => Some(decode_block(input)?),
        code => return Err(unknown_mark(code)),
    };
    let index = match input.u8()? {
        0 => None,
        1 => Some(IndexBlock::Bitmaps(decode_block(input)?)),
        2 => Some(IndexBlock::Elements(decode_block(input)?)),
        code => return Err(unknown_mark(code)),
    };
    let zones = ZoneMap::decode(column_type.domain(), directory.rows as usize, input)?;
    Ok(ColumnEntry { id, name, column_type, form, chunks, dictionary, index, zones })
}

fn encode_block(block: Block, out: &mut Encoder) {
    out.u64(block.offset);
    out.u64(block.bytes);
    out.u64(block.checksum);
}

fn decode_block(input: &mut Decoder<'_>) -> DecodeResult<Block> {
    Ok(Block { offset: input.u64()?, bytes: input.u64()?, checksum: input.u64()? })
}

fn unknown_mark(code: u8) -> String {
    format!("unknown mark {code} before a block")
}
