//! Chooses the collation of an operation on several strings.

use squall_registry::{Coercibility, ExprType};
use squall_types::{Charset, CollationId, ErrorCode, SqlError, SqlResult, SqlType};

/// The collation of one operand and how strongly it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StringOperand {
    /// Its collation.
    pub collation: CollationId,
    /// The strength.
    pub coercibility: Coercibility,
}

impl StringOperand {
    /// What a value of the type brings; numbers and dates have the connection's collation.
    pub fn of(ty: &ExprType, connection: CollationId) -> Self {
        Self::of_parts(&ty.sql_type, ty.coercibility, connection)
    }

    /// The same of a type's parts.
    pub fn of_parts(sql_type: &SqlType, coercibility: Coercibility, connection: CollationId) -> Self {
        match sql_type.collation() {
            Some(collation) => Self { collation, coercibility },
            // Its text is its bytes.
            None if matches!(sql_type, SqlType::Bit { .. }) => {
                Self { collation: CollationId::BINARY, coercibility: Coercibility::Implicit }
            }
            None => {
                let coercibility =
                    if *sql_type == SqlType::Null { Coercibility::Ignorable } else { Coercibility::Numeric };
                Self { collation: connection, coercibility }
            }
        }
    }
}

/// The collation of an operation on the operands and the result's coercibility; error 1267, 1270 or 1271 if none is.
pub fn aggregate_collations(operands: &[StringOperand], operation: &str) -> SqlResult<(CollationId, Coercibility)> {
    // One that is written decides, also behind others that do not go together.
    let result = aggregate_result(operands, operation)?;
    if result.1 == Coercibility::None { Err(illegal_mix(operands, operation)) } else { Ok(result) }
}

/// [`aggregate_collations`] of an operation that makes a string and compares nothing: of collations of one set, none of which is
/// stronger or written, the result has none either. It is kept as the binary one, and is an error where it is compared.
pub fn aggregate_result(operands: &[StringOperand], operation: &str) -> SqlResult<(CollationId, Coercibility)> {
    let Some((first, rest)) = operands.split_first() else {
        return Ok((CollationId::UTF8MB4_0900_AI_CI, Coercibility::Literal));
    };
    let mut result = *first;
    for operand in rest {
        let charset = result.collation.charset();
        let none = StringOperand { collation: charset.binary_collation(), coercibility: Coercibility::None };
        let is_none = result.coercibility != Coercibility::Explicit && charset == operand.collation.charset();
        let found = aggregate(result, *operand).or_else(|| is_none.then_some(none));
        result = found.ok_or_else(|| illegal_mix(operands, operation))?;
    }
    Ok((result.collation, result.coercibility))
}

fn aggregate(left: StringOperand, right: StringOperand) -> Option<StringOperand> {
    if left.collation == right.collation {
        return Some(if left.coercibility <= right.coercibility { left } else { right });
    }
    let (stronger, weaker) = if left.coercibility <= right.coercibility { (left, right) } else { (right, left) };
    if stronger.coercibility == Coercibility::Explicit && weaker.coercibility == Coercibility::Explicit {
        return None;
    }
    // Bytes win over characters of the same or less strength.
    if stronger.collation == CollationId::BINARY || weaker.collation == CollationId::BINARY {
        let binary = if stronger.collation == CollationId::BINARY { stronger } else { weaker };
        if binary.coercibility <= stronger.coercibility || stronger.coercibility > Coercibility::Implicit {
            return Some(binary);
        }
        return Some(stronger);
    }
    if stronger.coercibility < weaker.coercibility {
        let takes = unicode(stronger.collation)
            || stronger.collation.charset() == weaker.collation.charset()
            // A literal or a number is converted to what a column has.
            || weaker.coercibility >= Coercibility::SystemConstant;
        return takes.then_some(stronger);
    }
    // Of equal strength: Unicode takes in other sets; within a set a binary collation wins; else there is none.
    let (left_unicode, right_unicode) = (unicode(stronger.collation), unicode(weaker.collation));
    match (left_unicode, right_unicode) {
        (true, false) => return Some(stronger),
        (false, true) => return Some(weaker),
        _ => {}
    }
    match (stronger.collation.charset(), weaker.collation.charset()) {
        // All of the one is in the other.
        (Charset::Utf8mb4, Charset::Utf8mb3) => return Some(stronger),
        (Charset::Utf8mb3, Charset::Utf8mb4) => return Some(weaker),
        _ => {}
    }
    if stronger.collation.charset() == weaker.collation.charset() || (left_unicode && right_unicode) {
        if stronger.collation.is_binary() {
            return Some(stronger);
        }
        if weaker.collation.is_binary() {
            return Some(weaker);
        }
    }
    Some(StringOperand { collation: stronger.collation, coercibility: Coercibility::None })
        .filter(|_| stronger.coercibility == Coercibility::None)
}

fn unicode(collation: CollationId) -> bool {
    use Charset::{Ucs2, Utf8mb3, Utf8mb4, Utf16, Utf16le, Utf32};
    matches!(collation.charset(), Utf8mb4 | Utf8mb3 | Ucs2 | Utf16 | Utf16le | Utf32)
}

fn illegal_mix(operands: &[StringOperand], operation: &str) -> SqlError {
    let names: Vec<(&str, &str)> =
        operands.iter().map(|operand| (operand.collation.name(), coercibility_name(operand.coercibility))).collect();
    match names.as_slice() {
        [a, b] => SqlError::new(ErrorCode::CantAggregateCollations, &[&a.0, &a.1, &b.0, &b.1, &operation]),
        [a, b, c] => {
            SqlError::new(ErrorCode::CantAggregate3Collations, &[&a.0, &a.1, &b.0, &b.1, &c.0, &c.1, &operation])
        }
        _ => SqlError::new(ErrorCode::CantAggregateNCollations, &[&operation]),
    }
}

fn coercibility_name(coercibility: Coercibility) -> &'static str {
    match coercibility {
        Coercibility::Explicit => "EXPLICIT",
        Coercibility::None => "NONE",
        Coercibility::Implicit => "IMPLICIT",
        Coercibility::SystemConstant => "SYSCONST",
        Coercibility::Literal => "COERCIBLE",
        Coercibility::Numeric => "NUMERIC",
        Coercibility::Ignorable => "IGNORABLE",
    }
}
