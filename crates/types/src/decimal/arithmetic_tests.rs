//! Arithmetic of decimals against MySQL's results and against big integers.

use super::*;
use num_bigint::BigInt;
use proptest::prelude::*;

fn decimal(text: &str) -> Decimal {
    Decimal::parse(text).value
}

fn show(value: Option<Decimal>) -> String {
    value.map_or("NULL".to_string(), |value| value.to_string())
}

#[test]
fn agrees_with_mysql() {
    let d = decimal;
    assert_eq!(show(d("1.5").checked_add(d("2.25"))), "3.75");
    assert_eq!(show(d("1.5").checked_sub(d("2.25"))), "-0.75");
    assert_eq!(show(d("1.50").checked_mul(d("-2.5"))), "-3.750");
    assert_eq!(show(d("1").checked_div(d("3"), 4)), "0.3333");
    assert_eq!(show(d("2").checked_div(d("3"), 4)), "0.6667");
    assert_eq!(show(d("-10.55").checked_div(d("3"), 4)), "-3.516667");
    assert_eq!(show(d("1").div_unrounded(d("3"), 4)), "0.333333333");
    assert_eq!(show(d("2.00000").checked_div(d("3"), 4)), "0.666666666");
    assert_eq!(show(d("0.2345").checked_div(d("3"), 4)), "0.07816667");
    assert_eq!(show(d("1").checked_div(d("0.00"), 4)), "NULL");
    assert_eq!(show(d("10.5").checked_rem(d("3"))), "1.5");
    assert_eq!(show(d("-10.5").checked_rem(d("3.25"))), "-0.75");
    assert_eq!(show(d("-10.5").integer_div(d("3"))), "-3");
    assert_eq!(show(d("1.55").round(1)), "1.6");
    assert_eq!(show(d("-1.55").round(1)), "-1.6");
    assert_eq!(show(d("155").round(-1)), "160");
    assert_eq!(show(d("155").round(-4)), "0");
    assert_eq!(show(d("199.99").truncate(1)), "199.9");
    assert_eq!(show(d("199.99").truncate(-2)), "100");
    assert_eq!(show(d("1.5").round(5)), "1.5");
    assert_eq!((show(d("1.2").ceil()), show(d("-1.2").ceil())), ("2".into(), "-1".into()));
    assert_eq!((show(d("1.2").floor()), show(d("-1.2").floor())), ("1".into(), "-2".into()));
}

#[test]
fn limits_are_errors_not_panics() {
    let largest = Decimal::largest(65, 0);
    let finest = Decimal::largest(65, 30);
    assert_eq!(largest.checked_add(Decimal::from(1i64)), None);
    assert_eq!(largest.checked_mul(largest), None);
    assert!(finest.checked_mul(finest).is_none());
    assert_eq!(show(largest.checked_div(finest, 30)), "1000000000000000000000000000000.000000000000000000000000000000");
    assert!(largest.checked_div(Decimal::from_i128(1, 30), 4).is_none());
    for places in [i32::MIN, -100, -65, 0, 30, i32::MAX] {
        let _ = (largest.round(places), finest.truncate(places), finest.round(places));
    }
    let wild = [Decimal::new(i256::MIN, 0), Decimal::new(i256::MAX, 255), Decimal::new(i256::MIN, 255), largest];
    for a in wild {
        for b in wild {
            let _ = (
                a.checked_add(b),
                a.checked_sub(b),
                a.checked_mul(b),
                a.checked_div(b, 30),
                a.checked_rem(b),
                a.integer_div(b),
                a.cmp(&b),
            );
            let _ = (a.ceil(), a.floor(), a.fit(65, 30), a.to_string(), a.to_f64(), a.to_i64(), a.precision());
        }
    }
}

fn big(value: Decimal) -> BigInt {
    value.unscaled().to_string().parse().unwrap()
}

fn ten_to(exponent: u32) -> BigInt {
    BigInt::from(10).pow(exponent)
}

/// Division rounded half away from zero.
fn rounded(dividend: &BigInt, divisor: &BigInt) -> BigInt {
    let zero = BigInt::from(0);
    let negative = (dividend < &zero) != (divisor < &zero);
    let abs = |n: &BigInt| if n < &zero { -n } else { n.clone() };
    let (n, d) = (abs(dividend), abs(divisor));
    let magnitude: BigInt = (&n * 2 + &d) / (&d * 2);
    if negative { -magnitude } else { magnitude }
}

prop_compose! {
    fn any_decimal()(digits in "[0-9]{1,65}", scale in 0u8..=30, negative: bool) -> Decimal {
        let value = Decimal::new(Decimal::parse(&digits).value.unscaled(), scale);
        if negative { value.negate() } else { value }
    }
}

prop_compose! {
    fn small_decimal()(number in any::<i64>(), scale in 0u8..=9) -> Decimal {
        Decimal::from_i128(i128::from(number), scale)
    }
}

proptest! {
    #[test]
    fn sums_match_big_integers(a in any_decimal(), b in any_decimal()) {
        let scale = a.scale().max(b.scale());
        let at = |d: Decimal| big(d) * ten_to(u32::from(scale - d.scale()));
        let exact = at(a) + at(b);
        match a.checked_add(b) {
            Some(sum) if sum.scale() == scale => prop_assert_eq!(big(sum), exact),
            Some(sum) => prop_assert_eq!(big(sum), rounded(&exact, &ten_to(u32::from(scale - sum.scale())))),
            None => prop_assert!(exact.magnitude() >= ten_to(65 + u32::from(scale) - u32::from(scale)).magnitude()),
        }
        prop_assert_eq!(a.cmp(&b), at(a).cmp(&at(b)));
    }

    #[test]
    fn products_match_big_integers(a in any_decimal(), b in any_decimal()) {
        let scale = u32::from(a.scale() + b.scale());
        let exact = big(a) * big(b);
        if let Some(product) = a.checked_mul(b) {
            prop_assert!(product.scale() <= 30);
            let once = rounded(&exact, &ten_to(scale - scale.min(30)));
            // Rounding to 30 and again to 65 digits in all may differ from rounding once by one.
            let expected = rounded(&once, &ten_to(scale.min(30) - u32::from(product.scale())));
            prop_assert_eq!(big(product), expected);
        } else {
            prop_assert!(exact.to_string().trim_start_matches('-').len() as u32 >= 65 + scale - scale.min(30));
        }
    }

    #[test]
    fn quotients_match_big_integers(a in small_decimal(), b in small_decimal()) {
        prop_assume!(!b.is_zero());
        let quotient = a.checked_div(b, 4).unwrap();
        let dividend = big(a) * ten_to(4 + u32::from(b.scale()));
        prop_assert_eq!(quotient.scale(), a.scale() + 4);
        // Where the digits computed end with the scale, MySQL cuts.
        prop_assert!(big(quotient) == rounded(&dividend, &big(b)) || big(quotient) == dividend / big(b));
        let remainder = a.checked_rem(b).unwrap();
        let whole = a.integer_div(b).unwrap();
        prop_assert_eq!(whole.checked_mul(b).unwrap().checked_add(remainder).unwrap(), a);
    }

    #[test]
    fn wide_quotients_match_big_integers(a in any_decimal(), b in any_decimal()) {
        prop_assume!(!b.is_zero());
        if let Some(quotient) = a.checked_div(b, 4) {
            let scale = u32::from(a.scale() + 4).min(30);
            prop_assume!(u32::from(quotient.scale()) == scale);
            let unrounded = big(a) * ten_to(scale + u32::from(b.scale())) / ten_to(u32::from(a.scale()));
            let difference = big(quotient) - unrounded / big(b);
            prop_assert!(difference.magnitude() <= BigInt::from(1).magnitude());
        }
        if let Some(remainder) = a.checked_rem(b) {
            let scale = a.scale().max(b.scale());
            let at = |d: Decimal| big(d) * ten_to(u32::from(scale - d.scale()));
            if remainder.scale() == scale {
                prop_assert_eq!(big(remainder), at(a) % at(b));
            }
        }
    }
}
