//! Tests of the table of errors.

use super::*;

#[test]
fn the_table_is_in_order_and_says_nothing_twice() {
    for pair in ErrorCode::ALL.windows(2) {
        let [first, second] = pair else { continue };
        assert!(first.number() <= second.number(), "{second:?} stands behind {first:?}");
        // MySQL gives some numbers two texts, but never two SQLSTATEs.
        if first.number() == second.number() {
            assert_ne!(first.template(), second.template(), "{first:?} and {second:?}");
            // MariaDB's number of sequences is another error's in MySQL.
            let is_of_two_servers = *first == ErrorCode::UnknownSequence;
            assert!(is_of_two_servers || first.sqlstate() == second.sqlstate(), "{first:?} and {second:?}");
        }
    }
}

#[test]
fn templates_are_filled_in_order() {
    let error = SqlError::new(ErrorCode::DuplicateEntry, &[&"%s", &"t.PRIMARY"]);
    assert_eq!(error.to_string(), "ERROR 1062 (23000): Duplicate entry '%s' for key 't.PRIMARY'");
    assert_eq!(SqlError::new(ErrorCode::BadDatabase, &[]).message, "Unknown database ''");
}
