//! CASE and its relatives, LIKE, REGEXP.

use super::vector::{refuse_no_numbers, refuse_vectors};
use super::{BuildResult, ExprBuilder};
use crate::expr::{BoundExpr, Case, CompareOp, boolean_type, with_operand};
use crate::operators::control::ExtremeOfRow;
use crate::operators::like::{LikeKernel, PatternCache};
use crate::operators::regexp::RegexpKernel;
use crate::typing::collation::{StringOperand, aggregate_collations};
use crate::typing::{has_date, unify_types};
use squall_registry::ExprType;
use squall_types::{CollationId, SqlError, SqlMode, SqlResult, SqlType, Value};
use std::sync::Arc;

impl ExprBuilder<'_> {
    /// The type that all of the expressions are converted to.
    pub fn unified_type(&self, exprs: &[&BoundExpr], operation: &str) -> SqlResult<ExprType> {
        let types: Vec<ExprType> = exprs.iter().map(|expr| expr.ty()).collect();
        let types: Vec<&ExprType> = types.iter().collect();
        unify_types(&types, operation, self.context.settings.collation)
    }

    /// `CASE [operand] WHEN … THEN … ELSE … END`.
    pub fn case(
        &self,
        operand: Option<BoundExpr>,
        branches: Vec<(BoundExpr, BoundExpr)>,
        otherwise: Option<BoundExpr>,
    ) -> BuildResult {
        match operand {
            Some(operand) => {
                with_operand(self.unrounded(operand), |operand| self.case_of(Some(operand), branches, otherwise))
            }
            None => self.case_of(None, branches, otherwise),
        }
    }

    fn case_of(
        &self,
        operand: Option<BoundExpr>,
        branches: Vec<(BoundExpr, BoundExpr)>,
        otherwise: Option<BoundExpr>,
    ) -> BuildResult {
        let mut results: Vec<&BoundExpr> = branches.iter().map(|(_, then)| then).collect();
        results.extend(&otherwise);
        let mut ty = self.unified_type(&results, "case")?;
        ty.nullable |= otherwise.is_none();
        let mut bound = Vec::with_capacity(branches.len());
        for (when, then) in branches {
            let when = match &operand {
                Some(operand) => self.compare_in_case(operand.clone(), when)?,
                None => self.truth(when),
            };
            bound.push((when, self.convert(then, &ty)?));
        }
        let otherwise = otherwise.map(|otherwise| self.convert(otherwise, &ty)).transpose()?;
        Ok(self.fold(BoundExpr::Case(Arc::new(Case { branches: bound, otherwise, ty }))))
    }

    /// The comparison of `CASE operand WHEN when`. Unlike `=` it compares a document and a text as texts, so that a JSON null
    /// meets `'null'`, and a JSON string `'null'` does not.
    fn compare_in_case(&self, operand: BoundExpr, when: BoundExpr) -> BuildResult {
        let is_json = |expr: &BoundExpr| expr.sql_type() == SqlType::Json;
        match (is_json(&operand), is_json(&when)) {
            (true, false) if when.sql_type().is_string() => {
                self.compare(CompareOp::Equal, self.document_text(operand)?, when)
            }
            (false, true) if operand.sql_type().is_string() => {
                self.compare(CompareOp::Equal, operand, self.document_text(when)?)
            }
            _ => self.compare(CompareOp::Equal, operand, when),
        }
    }

    /// A document as its text.
    fn document_text(&self, document: BoundExpr) -> BuildResult {
        let ty = ExprType { sql_type: SqlType::longtext(CollationId::UTF8MB4_BIN), ..document.ty() };
        self.convert(document, &ty)
    }

    /// `IF(condition, then, otherwise)`.
    pub fn if_(&self, condition: BoundExpr, then: BoundExpr, otherwise: BoundExpr) -> BuildResult {
        let ty = self.unified_type(&[&then, &otherwise], "if")?;
        let (then, otherwise) = (self.convert(then, &ty)?, self.convert(otherwise, &ty)?);
        let branches = vec![(self.truth(condition), then)];
        Ok(self.fold(BoundExpr::Case(Arc::new(Case { branches, otherwise: Some(otherwise), ty }))))
    }

    /// `COALESCE(…)`, `IFNULL(a, b)`.
    pub fn coalesce(&self, values: Vec<BoundExpr>, operation: &str) -> BuildResult {
        let mut ty = self.unified_type(&values.iter().collect::<Vec<_>>(), operation)?;
        ty.nullable = values.iter().all(BoundExpr::nullable);
        let values: SqlResult<Vec<_>> = values.into_iter().map(|value| self.convert(value, &ty)).collect();
        Ok(self.fold(BoundExpr::Coalesce { values: values?, ty }))
    }

    /// `NULLIF(a, b)`.
    pub fn null_if(&self, left: BoundExpr, right: BoundExpr) -> BuildResult {
        with_operand(left, |left| {
            let ty = ExprType { nullable: true, ..left.ty() };
            let equal = self.compare(CompareOp::Equal, left.clone(), right)?;
            let branches = vec![(equal, BoundExpr::Literal(Value::Null, ty.clone()))];
            Ok(self.fold(BoundExpr::Case(Arc::new(Case { branches, otherwise: Some(left), ty }))))
        })
    }

    /// `GREATEST(…)`, `LEAST(…)`: the extreme of the values in their common type.
    pub fn extreme(&self, greatest: bool, values: Vec<BoundExpr>) -> BuildResult {
        let name = if greatest { "GREATEST" } else { "LEAST" };
        refuse_vectors(name, &values)?;
        let mut ty = self.unified_type(&values.iter().collect::<Vec<_>>(), name)?;
        ty.nullable = values.iter().any(BoundExpr::nullable);
        if values.iter().any(|value| value.sql_type() == SqlType::Json) {
            // They are compared as their texts.
            let warning = SqlError::unsupported("comparison of JSON in the LEAST and GREATEST operators");
            self.context.diagnostics.warn(warning);
        }
        if ty.sql_type == SqlType::Json {
            ty.sql_type = SqlType::longtext(CollationId::UTF8MB4_BIN);
        }
        if ty.sql_type.is_string()
            && let Some((moments, sql_type)) = self.moments(&values)
        {
            let kernel = Arc::new(ExtremeOfRow { greatest, collation: None });
            let is_date = sql_type == SqlType::Date;
            let moment = if is_date { SqlType::DateTime { fsp: 6 } } else { sql_type.clone() };
            let extreme = self.immutable(name, kernel, moments, ExprType::numeric(moment, true));
            return if is_date { self.convert(extreme, &ExprType::numeric(sql_type, true)) } else { Ok(extreme) };
        }
        let collation = ty.sql_type.collation().filter(|_| ty.sql_type.is_string());
        let values: SqlResult<Vec<_>> = values.into_iter().map(|value| self.convert(value, &ty)).collect();
        Ok(self.immutable(name, Arc::new(ExtremeOfRow { greatest, collation }), values?, ty))
    }

    /// Values as moments, if one of them has a date and all can be taken so, with the type that they have together: texts and numbers
    /// beside a date are dates.
    fn moments(&self, values: &[BoundExpr]) -> Option<(Vec<BoundExpr>, SqlType)> {
        let types = || values.iter().map(BoundExpr::sql_type);
        if !types().any(|sql_type| has_date(&sql_type)) {
            return None;
        }
        let digits = types().filter_map(|sql_type| match sql_type {
            SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } => Some(fsp),
            _ => None,
        });
        let together = digits.max().map_or(SqlType::Date, |fsp| SqlType::DateTime { fsp });
        let moment = SqlType::DateTime { fsp: 6 };
        let moments = values.iter().map(|value| match value.sql_type().is_string() {
            true => Some(self.text_to_temporal(value, &moment)),
            false => self.to_temporal_operand(value, &moment).ok().flatten(),
        });
        moments.collect::<Option<Vec<_>>>().map(|moments| (moments, together))
    }

    /// `text [NOT] LIKE pattern [ESCAPE escape]`.
    pub fn like(&self, text: BoundExpr, pattern: BoundExpr, escape: Option<BoundExpr>, negated: bool) -> BuildResult {
        refuse_no_numbers("like", [&text, &pattern])?;
        let collation = self.string_collation(&[&text, &pattern], "like")?;
        let within = if negated { None } else { self.like_digits(&text, &pattern)? };
        let nullable = text.nullable() || pattern.nullable();
        let escape = escape.unwrap_or_else(|| {
            let backslash = !self.context.settings.sql_mode.contains(SqlMode::NO_BACKSLASH_ESCAPES);
            self.string_literal(if backslash { "\\" } else { "" }, self.context.settings.collation)
        });
        let args =
            vec![self.to_text(text, collation)?, self.to_text(pattern, collation)?, self.to_text(escape, collation)?];
        let kernel = LikeKernel { collation, negated, cache: PatternCache::default() };
        let like = self.immutable("LIKE", Arc::new(kernel), args, boolean_type(nullable));
        Ok(match within {
            Some(within) => self.and(vec![within, like]),
            None => like,
        })
    }

    /// `text [NOT] REGEXP pattern`.
    pub fn regexp(&self, text: BoundExpr, pattern: BoundExpr, negated: bool) -> BuildResult {
        refuse_vectors("regexp", [&text, &pattern])?;
        let collation = self.string_collation(&[&text, &pattern], "regexp")?;
        let nullable = text.nullable() || pattern.nullable();
        let case_sensitive = collation.is_case_sensitive();
        let characters = if collation == CollationId::BINARY { CollationId::UTF8MB4_BIN } else { collation };
        let args = vec![self.to_text(text, characters)?, self.to_text(pattern, characters)?];
        let kernel = RegexpKernel { case_sensitive, negated };
        Ok(self.immutable("REGEXP", Arc::new(kernel), args, boolean_type(nullable)))
    }

    /// The collation that an operation on strings uses.
    pub fn string_collation(&self, exprs: &[&BoundExpr], operation: &str) -> SqlResult<CollationId> {
        let operands: Vec<StringOperand> =
            exprs.iter().map(|expr| StringOperand::of(&expr.ty(), self.context.settings.collation)).collect();
        Ok(aggregate_collations(&operands, operation)?.0)
    }
}
