//! The builder chooses MySQL's types, conversions and errors.

use super::*;
use crate::expr::{ColumnRef, CompareOp};
use crate::test_context::context;
use squall_registry::Coercibility;
use squall_types::{CollationId, Decimal, SqlMode, SqlType, Value};

fn column(ordinal: usize, name: &str, sql_type: SqlType) -> BoundExpr {
    let ty = ExprType { sql_type, nullable: true, coercibility: Coercibility::Implicit };
    BoundExpr::Column(Arc::new(ColumnRef {
        ordinal,
        relation: None,
        name: name.into(),
        display: format!("`t`.`{name}`").into(),
        ty,
        depth: Default::default(),
    }))
}

fn decimal(text: &str) -> Value {
    Value::Decimal(Decimal::parse(text).value)
}

fn eval(expr: &BoundExpr, row: Vec<Value>, context: &StatementContext) -> SqlResult<Value> {
    expr.eval(&row, context)
}

#[test]
fn arithmetic_has_mysqls_types_and_values() {
    use ArithmeticOp::*;
    let (registry, context) = (Registry::default(), context());
    let build = ExprBuilder::new(&registry, &context);
    let cases: Vec<(ArithmeticOp, Value, Value, SqlType, Value)> = vec![
        (Add, Value::Int(1), Value::Int(2), SqlType::BIGINT, Value::Int(3)),
        (Add, Value::UInt(1), Value::Int(2), SqlType::BIGINT_UNSIGNED, Value::UInt(3)),
        (Divide, Value::Int(1), Value::Int(3), SqlType::decimal(5, 4), decimal("0.3333")),
        (Divide, Value::Int(10), Value::Int(4), SqlType::decimal(6, 4), decimal("2.5000")),
        (IntegerDivide, Value::Int(-7), Value::Int(2), SqlType::BIGINT, Value::Int(-3)),
        (Modulo, Value::Int(-7), Value::Int(2), SqlType::BIGINT, Value::Int(-1)),
        (Multiply, decimal("1.50"), decimal("0.3"), SqlType::decimal(5, 3), decimal("0.450")),
        (Subtract, decimal("1.5"), Value::Int(1), SqlType::decimal(3, 1), decimal("0.5")),
        (Modulo, decimal("5.5"), Value::Int(2), SqlType::decimal(2, 1), decimal("1.5")),
        (Add, Value::from("1.5"), Value::Int(1), SqlType::DOUBLE, Value::Double(2.5)),
        (Divide, Value::Double(1.0), Value::Int(4), SqlType::DOUBLE, Value::Double(0.25)),
    ];
    for (op, left, right, sql_type, expected) in cases {
        let label = format!("{left:?} {} {right:?}", op.symbol());
        let expr = build.arithmetic(op, build.literal(left), build.literal(right)).unwrap();
        assert_eq!(expr.sql_type(), sql_type, "{label}");
        assert_eq!(eval(&expr, vec![], &context), Ok(expected), "{label}");
    }
}

#[test]
fn overflow_names_the_expression() {
    let (registry, context) = (Registry::default(), context());
    let build = ExprBuilder::new(&registry, &context);
    let a = column(0, "a", SqlType::BIGINT);
    let sum = build.arithmetic(ArithmeticOp::Add, a.clone(), build.literal(Value::Int(1))).unwrap();
    let error = eval(&sum, vec![Value::Int(i64::MAX)], &context).unwrap_err();
    assert_eq!(error.code, 1690);
    assert_eq!(error.message, "BIGINT value is out of range in '(`t`.`a` + 1)'");
    let unsigned = column(0, "a", SqlType::BIGINT_UNSIGNED);
    let difference = build.arithmetic(ArithmeticOp::Subtract, unsigned, build.literal(Value::Int(1))).unwrap();
    let error = eval(&difference, vec![Value::UInt(0)], &context).unwrap_err();
    assert_eq!(error.message, "BIGINT UNSIGNED value is out of range in '(`t`.`a` - 1)'");
}

#[test]
fn no_unsigned_subtraction_gives_signed_results() {
    let registry = Registry::default();
    let mut context = context();
    Arc::make_mut(&mut context.settings).sql_mode =
        SqlMode(context.settings.sql_mode.0 | SqlMode::NO_UNSIGNED_SUBTRACTION.0);
    let build = ExprBuilder::new(&registry, &context);
    let difference =
        build.arithmetic(ArithmeticOp::Subtract, build.literal(Value::UInt(0)), build.literal(Value::UInt(1))).unwrap();
    assert_eq!(difference.as_literal(), Some(&Value::Int(-1)));
}

#[test]
fn division_by_zero_is_null_with_a_warning_and_an_error_in_a_strict_write() {
    let registry = Registry::default();
    let mut context = context();
    let a = column(0, "a", SqlType::BIGINT);
    let quotient = {
        let build = ExprBuilder::new(&registry, &context);
        build.arithmetic(ArithmeticOp::Divide, build.literal(Value::Int(1)), a).unwrap()
    };
    assert_eq!(eval(&quotient, vec![Value::Int(0)], &context), Ok(Value::Null));
    assert_eq!(context.diagnostics.take()[0].error.code, 1365);
    context.strict_write = true;
    assert_eq!(eval(&quotient, vec![Value::Int(0)], &context).unwrap_err().code, 1365);
}

#[test]
fn comparisons_choose_mysqls_type() {
    let (registry, context) = (Registry::default(), context());
    let build = ExprBuilder::new(&registry, &context);
    let date =
        |text: &str| Value::Date(squall_types::temporal::parse::parse_date(text, Default::default()).unwrap().value);
    let cases = [
        (Value::Int(2), CompareOp::Less, Value::Int(10), true),
        (Value::from("2"), CompareOp::Less, Value::from("10"), false),
        (Value::from("2"), CompareOp::Less, Value::Int(10), true),
        (Value::Int(-1), CompareOp::Less, Value::UInt(u64::MAX), true),
        (decimal("1.10"), CompareOp::Equal, decimal("1.1"), true),
        (decimal("0.5"), CompareOp::Greater, Value::Int(0), true),
        (Value::Double(0.1), CompareOp::Equal, decimal("0.1"), true),
        (date("2024-01-02"), CompareOp::Less, Value::from("2024-1-10"), true),
        (date("2024-01-02"), CompareOp::Equal, Value::Int(20_240_102), true),
        (Value::from("abc"), CompareOp::Equal, Value::Int(0), true),
    ];
    for (left, op, right, expected) in cases {
        let label = format!("{left:?} {} {right:?}", op.symbol());
        let expr = build.compare(op, build.literal(left), build.literal(right)).unwrap();
        assert_eq!(eval(&expr, vec![], &context), Ok(Value::from(expected)), "{label}");
    }
}

#[test]
fn null_compares_as_null_except_null_safely() {
    let (registry, context) = (Registry::default(), context());
    let build = ExprBuilder::new(&registry, &context);
    let (null, one) = (BoundExpr::null(), build.literal(Value::Int(1)));
    let equal = build.compare(CompareOp::Equal, null.clone(), one.clone()).unwrap();
    assert_eq!(equal.as_literal(), Some(&Value::Null));
    let safe = build.compare(CompareOp::NullSafeEqual, null.clone(), one).unwrap();
    assert_eq!(safe.as_literal(), Some(&Value::Int(0)));
    let both = build.compare(CompareOp::NullSafeEqual, null.clone(), null).unwrap();
    assert_eq!(both.as_literal(), Some(&Value::Int(1)));
}

#[test]
fn a_constant_takes_the_columns_type_where_it_is_exact() {
    let (registry, context) = (Registry::default(), context());
    let build = ExprBuilder::new(&registry, &context);
    let id = column(0, "id", SqlType::INT);
    let equal = build.compare(CompareOp::Equal, id.clone(), build.literal(Value::from("5"))).unwrap();
    let BoundExpr::Compare { left, right, .. } = &equal else { panic!("{equal:?}") };
    assert_eq!(**left, id);
    assert_eq!(right.as_literal(), Some(&Value::Int(5)));
}

#[test]
fn in_lists_of_one_type_are_one_node() {
    let (registry, context) = (Registry::default(), context());
    let build = ExprBuilder::new(&registry, &context);
    let id = column(0, "id", SqlType::INT);
    let list = vec![build.literal(Value::Int(1)), build.literal(Value::from("2")), BoundExpr::null()];
    let expr = build.in_list(id, list, false).unwrap();
    assert_eq!(eval(&expr, vec![Value::Int(2)], &context), Ok(Value::Int(1)));
    assert_eq!(eval(&expr, vec![Value::Int(3)], &context), Ok(Value::Null));
    assert!(matches!(expr, BoundExpr::InList { .. }), "{expr:?}");
}

#[test]
fn rows_compare_by_their_first_difference() {
    let (registry, context) = (Registry::default(), context());
    let build = ExprBuilder::new(&registry, &context);
    let row = |values: [i64; 2]| values.map(|value| build.literal(Value::Int(value))).to_vec();
    for (left, op, right, expected) in [
        ([1, 2], CompareOp::Less, [1, 3], 1),
        ([1, 3], CompareOp::Less, [1, 3], 0),
        ([1, 3], CompareOp::LessOrEqual, [1, 3], 1),
        ([2, 0], CompareOp::Greater, [1, 9], 1),
        ([1, 2], CompareOp::NotEqual, [1, 2], 0),
    ] {
        let expr = build.compare_rows(op, row(left), row(right)).unwrap();
        assert_eq!(expr.as_literal(), Some(&Value::Int(expected)), "{left:?} {} {right:?}", op.symbol());
    }
}

#[test]
fn control_flow_unifies_types_and_skips_what_it_does_not_need() {
    let (registry, context) = (Registry::default(), context());
    let build = ExprBuilder::new(&registry, &context);
    let a = column(0, "a", SqlType::INT);
    let overflow = build.arithmetic(ArithmeticOp::Add, a.clone(), build.literal(Value::UInt(u64::MAX))).unwrap();
    let expr = build.if_(a.clone(), build.literal(Value::Int(1)), overflow).unwrap();
    assert_eq!(expr.sql_type(), SqlType::decimal(20, 0));
    assert_eq!(eval(&expr, vec![Value::Int(5)], &context), Ok(decimal("1")));
    let text = build.coalesce(vec![a, build.literal(Value::from("x"))], "coalesce").unwrap();
    assert!(text.sql_type().is_string());
    assert_eq!(eval(&text, vec![Value::Int(5)], &context), Ok(Value::from("5")));
    assert_eq!(eval(&text, vec![Value::Null], &context), Ok(Value::from("x")));
}

#[test]
fn conditions_follow_three_valued_logic() {
    let (registry, context) = (Registry::default(), context());
    let build = ExprBuilder::new(&registry, &context);
    let truth = |value: Option<bool>| value.map_or(BoundExpr::null(), BoundExpr::boolean);
    for (left, right, and, or, xor) in [
        (Some(true), None, None, Some(true), None),
        (Some(false), None, Some(false), None, None),
        (None, None, None, None, None),
        (Some(true), Some(true), Some(true), Some(true), Some(false)),
        (Some(true), Some(false), Some(false), Some(true), Some(true)),
    ] {
        let value = |expr: BoundExpr| expr.eval_condition(&crate::expr::EmptyRow, &context).unwrap();
        assert_eq!(value(build.and(vec![truth(left), truth(right)])), and, "{left:?} AND {right:?}");
        assert_eq!(value(build.or(vec![truth(left), truth(right)])), or, "{left:?} OR {right:?}");
        assert_eq!(value(build.xor(truth(left), truth(right))), xor, "{left:?} XOR {right:?}");
    }
    let five = build.and(vec![build.literal(Value::Int(5)), build.literal(Value::from("2x"))]);
    assert_eq!(eval(&five, vec![], &context), Ok(Value::Int(1)));
}

#[test]
fn explicit_collations_that_differ_are_refused() {
    let (registry, context) = (Registry::default(), context());
    let build = ExprBuilder::new(&registry, &context);
    let text = |collation| build.collate(build.literal(Value::from("a")), collation).unwrap();
    let error = build
        .compare(CompareOp::Equal, text(CollationId::UTF8MB4_BIN), text(CollationId::UTF8MB4_GENERAL_CI))
        .unwrap_err();
    assert_eq!(error.code, 1267);
    assert_eq!(
        error.message,
        "Illegal mix of collations (utf8mb4_bin,EXPLICIT) and (utf8mb4_general_ci,EXPLICIT) for operation '='"
    );
}
