//! Which tables of its FROM a DELETE of several tables deletes from.

use super::DmlBinder;
use squall_parser::ast;
use squall_types::{ErrorCode, SqlError, SqlResult};

impl DmlBinder<'_> {
    /// The tables of `from` that `targets` name, in their order. A table with an alias has only its alias, without a database; a name
    /// without a database is one of the default database.
    ///
    /// # Errors
    /// 1109 for what is not there, 1066 for what is there twice, 1046 for a name without a database where there is no default one, 1288 for a
    /// derived table.
    pub(super) fn delete_targets<'f>(
        &self,
        targets: &[ast::ObjectName],
        from: &'f [ast::TableReference],
    ) -> SqlResult<Vec<&'f ast::TableFactor>> {
        let mut factors = Vec::new();
        let mut derived = Vec::new();
        from.iter().for_each(|reference| collect(reference, &mut factors, &mut derived));
        targets.iter().map(|target| self.delete_target(target, &factors, &derived)).collect()
    }

    fn delete_target<'f>(
        &self,
        target: &ast::ObjectName,
        factors: &[&'f ast::TableFactor],
        derived: &[&ast::Ident],
    ) -> SqlResult<&'f ast::TableFactor> {
        let database = |name: &ast::ObjectName| -> SqlResult<String> {
            let database = name.schema.as_ref().map(ast::Ident::as_str).or(self.binder.default_database);
            Ok(database.ok_or_else(|| SqlError::new(ErrorCode::NoDatabase, &[]))?.to_owned())
        };
        let mut found = None;
        for factor in factors {
            let is_named = match &factor.alias {
                Some(alias) => target.schema.is_none() && **alias == *target.name,
                None => *factor.name.name == *target.name && database(&factor.name)? == database(target)?,
            };
            if is_named && found.replace(*factor).is_some() {
                return Err(SqlError::new(ErrorCode::NonUniqueTable, &[&target.name.as_str()]));
            }
        }
        let is_derived = target.schema.is_none() && derived.iter().any(|alias| ***alias == *target.name);
        found.ok_or_else(|| match is_derived {
            true => SqlError::new(ErrorCode::NonUpdatableTable, &[&target.name.as_str(), &"DELETE"]),
            false => SqlError::new(ErrorCode::UnknownTable, &[&target.name.as_str(), &"MULTI DELETE"]),
        })
    }
}

fn collect<'f>(
    reference: &'f ast::TableReference,
    factors: &mut Vec<&'f ast::TableFactor>,
    derived: &mut Vec<&'f ast::Ident>,
) {
    match reference {
        ast::TableReference::Table(factor) => factors.push(factor),
        ast::TableReference::Join(join) => {
            collect(&join.left, factors, derived);
            collect(&join.right, factors, derived);
        }
        ast::TableReference::Derived(table) => derived.extend(table.alias.as_ref()),
        ast::TableReference::JsonTable(_) | ast::TableReference::Function(_) => {}
    }
}
