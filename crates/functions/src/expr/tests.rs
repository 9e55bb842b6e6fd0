//! Expressions give the same values on single rows and in DataFusion.

use super::*;
use crate::build::{ArithmeticOp, ExprBuilder};
use crate::test_context::context;
use ::datafusion::common::DFSchema;
use ::datafusion::execution::context::SessionContext;
use ::datafusion::logical_expr::ColumnarValue;
use arrow::array::{ArrayRef, AsArray, BooleanArray, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema};
use squall_registry::Registry;
use squall_types::{CollationId, SqlError, SqlResult};

fn column(ordinal: usize, name: &str, sql_type: SqlType) -> BoundExpr {
    let ty = ExprType { sql_type, nullable: true, coercibility: Coercibility::Implicit };
    BoundExpr::Column(Arc::new(ColumnRef {
        ordinal,
        relation: None,
        name: name.into(),
        display: name.into(),
        ty,
        depth: Default::default(),
    }))
}

/// Runs an expression through DataFusion over rows.
fn run(expr: &BoundExpr, columns: &[BoundExpr], rows: &[Vec<Value>]) -> SqlResult<Vec<Value>> {
    let context = Arc::new(context());
    let slot = ExecutionSlot::new(context);
    let mut fields = Vec::new();
    let mut arrays: Vec<ArrayRef> = Vec::new();
    for column in columns {
        let BoundExpr::Column(column) = column else { panic!("a column") };
        fields.push(crate::arrow_map::field_for(&column.name, &column.ty));
        let mut builder = crate::arrow_map::ValueArrayBuilder::new(&column.ty.sql_type, rows.len());
        for row in rows {
            builder.append(&row[column.ordinal])?;
        }
        arrays.push(builder.finish());
    }
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap();
    let schema = DFSchema::try_from(batch.schema()).unwrap();
    let session = SessionContext::new();
    let physical = session
        .create_physical_expr(expr.to_datafusion(&slot).map_err(sql_error_from)?, &schema)
        .map_err(sql_error_from)?;
    let result = match physical.evaluate(&batch).map_err(sql_error_from)? {
        ColumnarValue::Array(array) => array,
        ColumnarValue::Scalar(scalar) => scalar.to_array_of_size(rows.len()).unwrap(),
    };
    (0..rows.len()).map(|row| crate::arrow_map::value_at(&result, row, &expr.sql_type())).collect()
}

/// Runs it both ways and expects the same.
fn check(expr: &BoundExpr, columns: &[BoundExpr], rows: &[Vec<Value>]) {
    let context = context();
    let row_wise: Vec<Value> = rows.iter().map(|row| expr.eval(row, &context).unwrap()).collect();
    assert_eq!(run(expr, columns, rows).unwrap(), row_wise, "{expr}");
}

#[test]
fn both_ways_agree() {
    let (registry, context) = (Registry::default(), context());
    let build = ExprBuilder::new(&registry, &context);
    let (a, b) = (column(0, "a", SqlType::INT), column(1, "b", SqlType::BIGINT));
    let s = column(2, "s", SqlType::varchar(20, CollationId::UTF8MB4_0900_AI_CI));
    let d = column(3, "d", SqlType::decimal(10, 2));
    let columns = [a.clone(), b.clone(), s.clone(), d.clone()];
    let decimal = |cents| Value::Decimal(squall_types::Decimal::from_i128(cents, 2));
    let rows = vec![
        vec![Value::Int(1), Value::Int(2), Value::from("1"), decimal(100)],
        vec![Value::Int(3), Value::Null, Value::from("3"), decimal(-250)],
        vec![Value::Null, Value::Int(0), Value::Null, Value::Null],
        vec![Value::Int(0), Value::Int(0), Value::from("0"), decimal(0)],
    ];
    let sum = build.arithmetic(ArithmeticOp::Add, a.clone(), b.clone()).unwrap();
    let less = build.compare(CompareOp::Less, a.clone(), b.clone()).unwrap();
    let mixed = build.compare(CompareOp::Equal, s.clone(), a.clone()).unwrap();
    let strings = build.compare(CompareOp::GreaterOrEqual, s.clone(), build.literal(Value::from("1"))).unwrap();
    let quotient = build.arithmetic(ArithmeticOp::Divide, d.clone(), b.clone()).unwrap();
    let exprs = vec![
        sum.clone(),
        less.clone(),
        mixed.clone(),
        strings.clone(),
        quotient,
        build.and(vec![less.clone(), a.clone()]),
        build.or(vec![build.not(less.clone()), d.clone()]),
        build.xor(less.clone(), strings),
        build.is_null(b.clone(), true),
        build.is_truth(d.clone(), true, true),
        build.if_(less.clone(), a.clone(), d.clone()).unwrap(),
        build.case(Some(a.clone()), vec![(build.literal(Value::Int(3)), s.clone())], None).unwrap(),
        build.coalesce(vec![b.clone(), a.clone()], "coalesce").unwrap(),
        build.in_list(a.clone(), vec![build.literal(Value::Int(1)), build.literal(Value::Int(3))], true).unwrap(),
        build.arithmetic(ArithmeticOp::Multiply, less, sum).unwrap(),
        build.like(s, build.literal(Value::from("%3")), None, false).unwrap(),
        build.between(d, build.literal(Value::Int(0)), b, false).unwrap(),
    ];
    for expr in exprs {
        check(&expr, &columns, &rows);
    }
}

#[test]
fn errors_survive_datafusion() {
    let (registry, context) = (Registry::default(), context());
    let build = ExprBuilder::new(&registry, &context);
    let a = column(0, "a", SqlType::BIGINT);
    let sum = build.arithmetic(ArithmeticOp::Add, a.clone(), a.clone()).unwrap();
    let error = run(&sum, &[a], &[vec![Value::Int(1)], vec![Value::Int(i64::MAX)]]).unwrap_err();
    assert_eq!(error.code, 1690);
    assert_eq!(error.message, "BIGINT value is out of range in '(a + a)'");
    let nested = datafusion_error(SqlError::internal("x")).context("while planning").context("again");
    assert_eq!(sql_error_from(nested).message, "x");
}

#[test]
fn calls_are_equal_when_they_mean_the_same() {
    let (registry, context) = (Registry::default(), context());
    let build = ExprBuilder::new(&registry, &context);
    let (a, b) = (column(0, "a", SqlType::INT), column(1, "b", SqlType::INT));
    let slot = ExecutionSlot::new(Arc::new(crate::test_context::context()));
    let sum =
        |left: &BoundExpr, right: &BoundExpr| build.arithmetic(ArithmeticOp::Add, left.clone(), right.clone()).unwrap();
    assert_eq!(sum(&a, &b), sum(&a, &b));
    assert_ne!(sum(&a, &b), sum(&b, &a));
    assert_eq!(sum(&a, &b).to_datafusion(&slot).unwrap(), sum(&a, &b).to_datafusion(&slot).unwrap());
    let difference = build.arithmetic(ArithmeticOp::Subtract, a.clone(), b.clone()).unwrap();
    assert_ne!(sum(&a, &b).to_datafusion(&slot).unwrap(), difference.to_datafusion(&slot).unwrap());
}

#[test]
fn conditions_convert_only_where_they_must() {
    let (registry, context) = (Registry::default(), context());
    let build = ExprBuilder::new(&registry, &context);
    let slot = ExecutionSlot::new(Arc::new(crate::test_context::context()));
    let a = column(0, "a", SqlType::BIGINT);
    let one = build.literal(Value::Int(1));
    let condition = build
        .and(vec![build.compare(CompareOp::Equal, a.clone(), one.clone()).unwrap(), build.is_null(a.clone(), true)]);
    assert_eq!(condition.to_predicate(&slot).unwrap().to_string(), "a = Int64(1) AND a IS NOT NULL");
    assert_eq!(condition.to_value(&slot).unwrap().to_string(), "CAST(a = Int64(1) AND a IS NOT NULL AS Int64)");
    assert_eq!(a.to_predicate(&slot).unwrap().to_string(), "a != Int64(0)");
}

#[test]
fn parameters_are_read_when_the_plan_runs() {
    let slot = ExecutionSlot::new(Arc::new(context()));
    let ty = ExprType::numeric(SqlType::BIGINT, true);
    let parameter = BoundExpr::Parameter { index: 0, ty, non_negative: false };
    let expr = parameter.to_datafusion(&slot).unwrap();
    let session = SessionContext::new();
    let physical = session.create_physical_expr(expr, &DFSchema::empty()).unwrap();
    let batch = RecordBatch::new_empty(Arc::new(Schema::empty()));
    for value in [1, 2] {
        slot.put(Arc::new(context()), Arc::new(vec![Value::Int(value)]));
        let ColumnarValue::Scalar(scalar) = physical.evaluate(&batch).unwrap() else { panic!("a scalar") };
        assert_eq!(crate::arrow_map::scalar_to_value(&scalar, &SqlType::BIGINT), Ok(Value::Int(value)));
    }
}

#[test]
fn nothing_is_folded_while_a_plan_is_made() {
    let slot = ExecutionSlot::new(Arc::new(context()));
    let ty = ExprType::numeric(SqlType::BIGINT, false);
    let item = |index| BoundExpr::Parameter { index, ty: ty.clone(), non_negative: false };
    let a = column(0, "a", SqlType::BIGINT);
    let list = |negated| BoundExpr::InList {
        operand: Box::new(a.clone()),
        list: vec![item(0), item(1)],
        negated,
        collation: None,
    };
    let field = Field::new("a", DataType::Int64, true);
    let batch = RecordBatch::try_new(
        Arc::new(Schema::new(vec![field.clone()])),
        vec![Arc::new(Int64Array::from(vec![Some(1), Some(2), Some(3), None]))],
    )
    .unwrap();
    let schema = DFSchema::try_from(Schema::new(vec![field])).unwrap();
    let values = |first, second| Arc::new(vec![Value::Int(first), Value::Int(second)]);
    for negated in [false, true] {
        slot.plan(Arc::new(context()), values(1, 2));
        let condition = list(negated).to_predicate(&slot).unwrap();
        let physical = SessionContext::new().create_physical_expr(condition, &schema).unwrap();
        assert!(physical.evaluate(&batch).is_err(), "the plan does not run yet");
        for (first, second, found) in [(1, 2, [true, true, false]), (3, 3, [false, false, true])] {
            slot.put(Arc::new(context()), values(first, second));
            let result = physical.evaluate(&batch).unwrap().into_array(4).unwrap();
            let expected = found.iter().map(|found| Some(*found != negated)).chain([None]);
            assert_eq!(*result.as_boolean(), expected.collect::<BooleanArray>(), "{first}, {second}");
        }
    }
}

mod vectorised {
    use super::*;
    use proptest::prelude::*;
    use squall_types::Decimal;

    fn value_of(sql_type: &SqlType) -> BoxedStrategy<Value> {
        let int =
            prop_oneof![(-5_i64..5).boxed(), any::<i64>().boxed(), Just(i64::MAX).boxed(), Just(i64::MIN).boxed()];
        let value = match sql_type {
            SqlType::Int { unsigned: false, .. } => int.prop_map(Value::Int).boxed(),
            SqlType::Int { .. } => prop_oneof![0_u64..5, any::<u64>(), Just(u64::MAX)].prop_map(Value::UInt).boxed(),
            SqlType::Double { .. } => {
                prop_oneof![(-5_i32..5).prop_map(f64::from), -1e300..1e300, Just(0.0), Just(1e308)]
                    .prop_map(|number: f64| Value::Double(number + 0.0))
                    .boxed()
            }
            SqlType::Decimal { precision, scale, .. } => {
                let limit = 10_i128.pow(u32::from(*precision).min(37)) - 1;
                let scale = *scale;
                prop_oneof![(-500_i128..500).boxed(), (-limit..=limit).boxed(), Just(limit).boxed()]
                    .prop_map(move |unscaled| Value::Decimal(Decimal::from_i128(unscaled, scale)))
                    .boxed()
            }
            _ => prop::sample::select(vec!["", "a", "A", "é", "b ", "10"]).prop_map(Value::from).boxed(),
        };
        prop_oneof![1 => Just(Value::Null), 5 => value].boxed()
    }

    fn column_type() -> impl Strategy<Value = SqlType> {
        prop::sample::select(vec![
            SqlType::INT,
            SqlType::BIGINT,
            SqlType::BIGINT_UNSIGNED,
            SqlType::DOUBLE,
            SqlType::decimal(5, 2),
            SqlType::decimal(18, 6),
            SqlType::decimal(30, 0),
            SqlType::decimal(50, 10),
            SqlType::varchar(10, CollationId::UTF8MB4_0900_AI_CI),
        ])
    }

    fn table() -> impl Strategy<Value = (SqlType, SqlType, Vec<Vec<Value>>)> {
        (column_type(), column_type()).prop_flat_map(|(a, b)| {
            let row = (value_of(&a), value_of(&b)).prop_map(|(a, b)| vec![a, b]);
            (Just(a), Just(b), prop::collection::vec(row, 1..8))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

        #[test]
        fn arrays_give_what_rows_give((a_type, b_type, rows) in table()) {
            let (registry, context) = (Registry::default(), context());
            let build = ExprBuilder::new(&registry, &context);
            let (a, b) = (column(0, "a", a_type), column(1, "b", b_type));
            let columns = [a.clone(), b.clone()];
            let mut exprs = Vec::new();
            for op in [
                ArithmeticOp::Add,
                ArithmeticOp::Subtract,
                ArithmeticOp::Multiply,
                ArithmeticOp::Divide,
                ArithmeticOp::IntegerDivide,
                ArithmeticOp::Modulo,
            ] {
                exprs.push(build.arithmetic(op, a.clone(), b.clone()).unwrap());
            }
            for op in [CompareOp::Equal, CompareOp::NullSafeEqual, CompareOp::Less, CompareOp::GreaterOrEqual] {
                exprs.push(build.compare(op, a.clone(), b.clone()).unwrap());
            }
            exprs.push(build.negate(a.clone()).unwrap());
            exprs.push(build.if_(build.is_null(a.clone(), false), a.clone(), b.clone()).unwrap());
            for expr in exprs {
                let row_wise: SqlResult<Vec<Value>> = rows.iter().map(|row| expr.eval(row, &context)).collect();
                let arrays = run(&expr, &columns, &rows);
                match (row_wise, arrays) {
                    (Ok(row_wise), Ok(arrays)) => prop_assert_eq!(arrays, row_wise, "{}", expr),
                    (Err(row_wise), Err(arrays)) => prop_assert_eq!(arrays, row_wise, "{}", expr),
                    (row_wise, arrays) => prop_assert!(false, "{}: {:?} and {:?}", expr, row_wise, arrays),
                }
            }
        }
    }
}

#[test]
fn large_expressions_are_single_calls_with_the_same_values() {
    let slot = ExecutionSlot::new(Arc::new(context()));
    let column = column(0, "a", SqlType::BIGINT);
    let mut deep = column.clone();
    for _ in 0..100 {
        deep = BoundExpr::Not(Box::new(BoundExpr::IsNull { operand: Box::new(deep), negated: true }));
    }
    assert!(!deep.depth().is_shallow() && deep.is_larger_than(200) && !deep.is_larger_than(201));
    let planned = deep.to_value(&slot).unwrap();
    assert_eq!(planned.to_string(), "expression(a)");
    assert_eq!(deep.planned_depth().levels, 2);
    let compound = deep.clone().into_compound();
    for value in [Value::Null, Value::Int(3)] {
        let (row, context) = (vec![value], slot.context());
        assert_eq!(compound.eval(&row, &context), deep.eval(&row, &context));
    }
    // Named once it stays what it was, named twice it is one call.
    let once = with_operand(deep.clone(), |operand| Ok(BoundExpr::Not(Box::new(operand)))).unwrap();
    assert_eq!(once, BoundExpr::Not(Box::new(deep.clone())));
    let twice = with_operand(deep.clone(), |operand| Ok(BoundExpr::And(vec![operand.clone(), operand]))).unwrap();
    assert!(matches!(&twice, BoundExpr::Call(call) if call.args == [deep]));
}
