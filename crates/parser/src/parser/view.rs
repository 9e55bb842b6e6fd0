//! CREATE VIEW and ALTER VIEW.

use super::ddl::CreatePrefix;
use super::*;

impl Parser<'_> {
    /// A view's definition, behind the word VIEW.
    pub(super) fn create_view(&mut self, prefix: CreatePrefix, alter: bool) -> Result<Statement> {
        let if_not_exists = !alter && self.if_not_exists()?;
        let name = self.object_name()?;
        let columns = self.optional_idents()?;
        self.expect(K::As)?;
        let start = self.current.start;
        let query = Box::new(self.inner_query()?);
        let query_span = self.span_from(start);
        let mut check_option = None;
        if self.accept(K::With) {
            check_option = Some(if self.accept(K::Local) {
                CheckOption::Local
            } else {
                self.accept(K::Cascaded);
                CheckOption::Cascaded
            });
            self.expect_all(&[K::Check, K::Option])?;
        }
        Ok(Statement::CreateView(Box::new(CreateView {
            alter,
            or_replace: prefix.or_replace,
            if_not_exists,
            algorithm: prefix.algorithm,
            definer: prefix.definer,
            security: prefix.security,
            name,
            columns,
            query,
            query_span,
            check_option,
        })))
    }
}
