//! The bytes of an index, which is a block of a segment.
//!
//! ```text
//! keys u8 (0 dictionary, 1 values, 2 bins) | encoding u8 (0 equality, 1 range)
//! count u32 | the keys, unless they are the dictionary
//! nulls | present | bitmaps         each: length u32, then Roaring's portable format
//! ```

use super::encoding::{EncodedOrdinals, Encoding};
use super::{BitmapIndex, Keys};
use crate::bytes::{DecodeResult, Decoder, Encoder};
use crate::coded::{DICTIONARY_VALUES_MAX, Dictionary};
use crate::domain::{Datum, Domain};
use roaring::RoaringBitmap;
use std::sync::Arc;

impl BitmapIndex {
    /// The index as a block of a segment.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Encoder::default();
        out.u8(match self.keys {
            Keys::Dictionary(_) => 0,
            Keys::Values(_) => 1,
            Keys::Bins(_) => 2,
        });
        out.u8(match self.ordinals.encoding {
            Encoding::Equality => 0,
            Encoding::Range => 1,
        });
        out.u32(self.ordinals.count as u32);
        if let Keys::Values(keys) | Keys::Bins(keys) = &self.keys {
            keys.iter().for_each(|key| key.encode(&mut out));
        }
        encode_bitmap(&self.nulls, &mut out);
        encode_bitmap(&self.ordinals.present, &mut out);
        self.ordinals.bitmaps.iter().for_each(|bitmap| encode_bitmap(bitmap, &mut out));
        out.bytes
    }

    /// Decodes a column's index; `rows` is the segment's number of rows.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub fn decode(
        bytes: &[u8],
        domain: Domain,
        dictionary: Option<&Arc<Dictionary>>,
        rows: u32,
    ) -> Result<BitmapIndex, String> {
        let mut input = Decoder::new(bytes);
        let keys = input.u8()?;
        let encoding = match input.u8()? {
            0 => Encoding::Equality,
            1 => Encoding::Range,
            code => return Err(format!("unknown encoding {code}")),
        };
        let keys = match (keys, dictionary) {
            (0, Some(dictionary)) => {
                let count = input.u32()? as usize;
                if count != dictionary.len() {
                    return Err(format!("is of {count} values, but the dictionary has {}", dictionary.len()));
                }
                Keys::Dictionary(dictionary.clone())
            }
            (0, None) => return Err("is by dictionary, but the column has none".to_string()),
            (1, _) => Keys::Values(decode_keys(domain, &mut input)?),
            (2, _) => Keys::Bins(decode_keys(domain, &mut input)?),
            (code, _) => return Err(format!("unknown kind of keys {code}")),
        };
        let count = match &keys {
            Keys::Dictionary(dictionary) => dictionary.len(),
            Keys::Values(keys) | Keys::Bins(keys) => keys.len(),
        };
        let nulls = decode_bitmap(&mut input, rows)?;
        let present = decode_bitmap(&mut input, rows)?;
        if nulls.len() + present.len() != u64::from(rows) || !nulls.is_disjoint(&present) {
            return Err("does not have every row once".to_string());
        }
        let bitmaps = (0..encoding.bitmaps(count)).map(|_| {
            let bitmap = decode_bitmap(&mut input, rows)?;
            if bitmap.is_subset(&present) { Ok(bitmap) } else { Err("has a row that is NULL".to_string()) }
        });
        let bitmaps = bitmaps.collect::<DecodeResult<Vec<_>>>()?;
        input.finish()?;
        Ok(BitmapIndex { keys, nulls, ordinals: EncodedOrdinals { encoding, count, present, bitmaps } })
    }
}

fn decode_keys(domain: Domain, input: &mut Decoder<'_>) -> DecodeResult<Vec<Datum>> {
    let count = input.count(Datum::encoded_bytes_min(domain))?;
    if count > DICTIONARY_VALUES_MAX {
        return Err(format!("has {count} keys"));
    }
    let keys = (0..count).map(|_| Datum::decode(domain, input)).collect::<DecodeResult<Vec<_>>>()?;
    if !keys.is_sorted_by(|a, b| a.order(b).is_lt()) {
        return Err("keys are not distinct and in order".to_string());
    }
    Ok(keys)
}

fn encode_bitmap(bitmap: &RoaringBitmap, out: &mut Encoder) {
    out.u32(bitmap.serialized_size() as u32);
    bitmap.serialize_into(&mut out.bytes).expect("writing to memory does not fail");
}

fn decode_bitmap(input: &mut Decoder<'_>, rows: u32) -> DecodeResult<RoaringBitmap> {
    let mut bytes = input.counted()?;
    let bitmap = RoaringBitmap::deserialize_from(&mut bytes).map_err(|error| format!("a bitmap: {error}"))?;
    if !bytes.is_empty() {
        return Err("a bitmap is shorter than it says".to_string());
    }
    match bitmap.max() {
        Some(row) if row >= rows => Err(format!("has row {row} of {rows}")),
        _ => Ok(bitmap),
    }
}
