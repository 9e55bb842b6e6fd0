//! COUNTER, RANDOM_NUMBER and RANDOM_STRING: tables whose rows have no end. A query that reads one needs a LIMIT.

use super::DATABASE;
use squall_registry::{Registry, RowParts, VirtualColumn, VirtualScan, VirtualTable};
use squall_types::{CollationId, SqlResult, SqlType, Value};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

/// Rows of a part.
const PART_ROWS: usize = 64;
/// Characters of a random string.
const STRING_LENGTH: usize = 20;
/// The characters that it is made of.
const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// Makes the values of a table, one after the other.
type Values = Box<dyn FnMut() -> Value + Send>;

/// A table without end.
struct Generator {
    name: &'static str,
    columns: [VirtualColumn; 1],
    values: fn() -> Values,
}

impl std::fmt::Debug for Generator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Generator").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Declares them.
pub(crate) fn register(registry: &mut Registry) {
    let text = SqlType::varchar(STRING_LENGTH as u32, CollationId::UTF8MB4_0900_AI_CI);
    let mut declare = |name, sql_type, values| {
        let columns = [VirtualColumn { name: "VALUE".into(), sql_type, nullable: false, invisible: false }];
        registry.register_virtual_table(Arc::new(Generator { name, columns, values }));
    };
    declare("COUNTER", SqlType::BIGINT_UNSIGNED, counter);
    declare("RANDOM_NUMBER", SqlType::BIGINT_UNSIGNED, random_numbers);
    declare("RANDOM_STRING", text, random_strings);
}

impl VirtualTable for Generator {
    fn database(&self) -> &str {
        DATABASE
    }

    fn name(&self) -> &str {
        self.name
    }

    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }

    fn has_parts(&self) -> bool {
        true
    }

    fn is_endless(&self) -> bool {
        true
    }

    fn parts(&self, _: &VirtualScan<'_>) -> SqlResult<RowParts> {
        let mut values = (self.values)();
        Ok(Box::new(std::iter::repeat_with(move || Ok((0..PART_ROWS).map(|_| vec![values()]).collect()))))
    }
}

/// 1, 2, 3, …
fn counter() -> Values {
    let mut number = 0u64;
    Box::new(move || {
        number = number.wrapping_add(1);
        Value::UInt(number)
    })
}

/// Numbers that nobody should take for secrets: another sequence for each scan.
fn numbers() -> impl FnMut() -> u64 + Send {
    let mut state = RandomState::new().hash_one(0u8);
    move || {
        // SplitMix64.
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

fn random_numbers() -> Values {
    let mut next = numbers();
    Box::new(move || Value::UInt(next()))
}

fn random_strings() -> Values {
    let mut next = numbers();
    Box::new(move || {
        let letter = |_| char::from(LETTERS[(next() % LETTERS.len() as u64) as usize]);
        Value::String((0..STRING_LENGTH).map(letter).collect())
    })
}
