//! Functions by name.

/// An aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregate {
    Sum,
    Average,
    Count,
    CountDistinct,
    Least,
    Greatest,
    List,
    Variance,
    VarianceOfAll,
    Deviation,
    DeviationOfAll,
    Median,
}

impl Aggregate {
    /// The aggregate of a name in upper case.
    pub fn find(name: &str) -> Option<Aggregate> {
        Some(match name {
            "SUM" => Aggregate::Sum,
            "AVG" | "AVERAGE" => Aggregate::Average,
            "COUNT" => Aggregate::Count,
            "COUNTDISTINCT" => Aggregate::CountDistinct,
            "MIN" => Aggregate::Least,
            "MAX" => Aggregate::Greatest,
            "GROUP_CONCAT" => Aggregate::List,
            "VAR" | "VARSAMP" => Aggregate::Variance,
            "VARP" | "VARPOP" => Aggregate::VarianceOfAll,
            "STDEV" | "STDSAMP" => Aggregate::Deviation,
            "STDEVP" | "STDPOP" => Aggregate::DeviationOfAll,
            "MEDIAN" => Aggregate::Median,
            _ => return None,
        })
    }

    /// What stands before and behind the argument in SQL.
    pub fn sql(self) -> (&'static str, &'static str) {
        match self {
            Aggregate::Sum => ("SUM(", ")"),
            // FastBit's averages and variances are plain DOUBLEs, whatever they are of.
            Aggregate::Average => ("CAST(AVG(", ") AS DOUBLE)"),
            Aggregate::Count => ("COUNT(", ")"),
            Aggregate::CountDistinct => ("COUNT(DISTINCT ", ")"),
            Aggregate::Least => ("MIN(", ")"),
            Aggregate::Greatest => ("MAX(", ")"),
            Aggregate::List => ("GROUP_CONCAT(", ")"),
            Aggregate::Variance => ("CAST(VAR_SAMP(", ") AS DOUBLE)"),
            Aggregate::VarianceOfAll => ("CAST(VAR_POP(", ") AS DOUBLE)"),
            Aggregate::Deviation => ("CAST(STDDEV_SAMP(", ") AS DOUBLE)"),
            Aggregate::DeviationOfAll => ("CAST(STDDEV_POP(", ") AS DOUBLE)"),
            Aggregate::Median => ("MEDIAN(", ")"),
        }
    }
}

/// A function of C's mathematical library. `$1` and `$2` in `sql` are its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name in lower case.
    pub name: &'static str,
    /// How many arguments it has.
    pub arity: usize,
    /// What does the same in SQL.
    pub sql: &'static str,
}

const fn function(name: &'static str, arity: usize, sql: &'static str) -> Function {
    Function { name, arity, sql }
}

/// All of them, sorted by name.
const FUNCTIONS: &[Function] = &[
    function("abs", 1, "ABS($1)"),
    function("acos", 1, "ACOS($1)"),
    function("asin", 1, "ASIN($1)"),
    function("atan", 1, "ATAN($1)"),
    function("atan2", 2, "ATAN2($1, $2)"),
    function("cbrt", 1, "(SIGN($1) * POW(ABS($1), 1e0 / 3e0))"),
    function("ceil", 1, "CEIL($1)"),
    function("cos", 1, "COS($1)"),
    function("cosh", 1, "((EXP($1) + EXP(-($1))) / 2e0)"),
    function("exp", 1, "EXP($1)"),
    function("exp2", 1, "POW(2e0, $1)"),
    function("expm1", 1, "(EXP($1) - 1e0)"),
    function("fabs", 1, "ABS($1)"),
    function("fdim", 2, "GREATEST(($1) - ($2), 0)"),
    function("floor", 1, "FLOOR($1)"),
    function("fmax", 2, "GREATEST($1, $2)"),
    function("fmin", 2, "LEAST($1, $2)"),
    function("fmod", 2, "MOD($1, $2)"),
    function("hypot", 2, "SQRT(POW($1, 2e0) + POW($2, 2e0))"),
    function("ldexp", 2, "(($1) * POW(2e0, $2))"),
    function("log", 1, "LN($1)"),
    function("log10", 1, "LOG10($1)"),
    function("log1p", 1, "LN(1e0 + ($1))"),
    function("log2", 1, "LOG2($1)"),
    function("pow", 2, "POW($1, $2)"),
    function("round", 1, "ROUND($1)"),
    function("sin", 1, "SIN($1)"),
    function("sinh", 1, "((EXP($1) - EXP(-($1))) / 2e0)"),
    function("sqrt", 1, "SQRT($1)"),
    function("tan", 1, "TAN($1)"),
    function("tanh", 1, "(1e0 - 2e0 / (EXP(2e0 * ($1)) + 1e0))"),
    function("trunc", 1, "TRUNCATE($1, 0)"),
];

impl Function {
    /// The function of a name in lower case.
    pub fn find(name: &str) -> Option<Function> {
        let at = FUNCTIONS.binary_search_by(|function| function.name.cmp(name)).ok()?;
        FUNCTIONS.get(at).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_is_found() {
        assert!(FUNCTIONS.is_sorted_by_key(|function| function.name));
        for function in FUNCTIONS {
            assert_eq!(Function::find(function.name), Some(*function));
            assert_eq!(function.sql.contains("$2"), function.arity == 2, "{}", function.name);
        }
    }
}
