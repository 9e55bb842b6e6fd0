//! Partitions.

use super::*;

impl Parser<'_> {
    /// `PARTITION BY …` or nothing.
    pub(super) fn partitioning(&mut self) -> Result<Option<Partitioning>> {
        if !self.accept(K::Partition) {
            return Ok(None);
        }
        self.expect(K::By)?;
        let scheme = self.partition_scheme(true)?;
        let count = self.partition_count(K::Partitions)?;
        let mut subpartition = None;
        if self.accept(K::Subpartition) {
            self.expect(K::By)?;
            let scheme = self.partition_scheme(false)?;
            subpartition = Some(Subpartitioning { scheme, count: self.partition_count(K::Subpartitions)? });
        }
        let partitions = if self.at_kind(TokenKind::LeftParen) { self.partition_definitions()? } else { Vec::new() };
        Ok(Some(Partitioning { scheme, count, subpartition, partitions }))
    }

    fn partition_count(&mut self, word: K) -> Result<Option<u64>> {
        if self.accept(word) { self.unsigned().map(Some) } else { Ok(None) }
    }

    fn partition_scheme(&mut self, top: bool) -> Result<PartitionScheme> {
        let linear = self.accept(K::Linear);
        match self.keyword() {
            K::Hash => {
                self.advance();
                Ok(PartitionScheme::Hash { linear, expr: self.parenthesized(Self::bit_expr)? })
            }
            K::Key => {
                self.advance();
                let mut algorithm = None;
                if self.accept(K::Algorithm) {
                    self.expect_kind(TokenKind::Equal)?;
                    algorithm = Some(self.unsigned32()?);
                }
                self.expect_kind(TokenKind::LeftParen)?;
                let columns = if self.at_kind(TokenKind::RightParen) { Vec::new() } else { self.ident_list()? };
                self.expect_kind(TokenKind::RightParen)?;
                Ok(PartitionScheme::Key { linear, algorithm, columns })
            }
            K::Range if top && !linear => {
                self.advance();
                if self.accept(K::Columns) {
                    return Ok(PartitionScheme::RangeColumns(self.parenthesized_idents()?));
                }
                Ok(PartitionScheme::Range(self.parenthesized(Self::bit_expr)?))
            }
            K::List if top && !linear => {
                self.advance();
                if self.accept(K::Columns) {
                    return Ok(PartitionScheme::ListColumns(self.parenthesized_idents()?));
                }
                Ok(PartitionScheme::List(self.parenthesized(Self::bit_expr)?))
            }
            _ => Err(self.unexpected()),
        }
    }

    /// `(PARTITION …, …)`.
    pub(super) fn partition_definitions(&mut self) -> Result<Vec<PartitionDefinition>> {
        self.parenthesized_list(|parser| {
            parser.expect(K::Partition)?;
            let name = parser.ident()?;
            let values = parser.partition_values()?;
            let options = parser.partition_options()?;
            let mut subpartitions = Vec::new();
            if parser.at_kind(TokenKind::LeftParen) {
                subpartitions = parser.parenthesized_list(|parser| {
                    parser.expect(K::Subpartition)?;
                    let name = parser.ident_or_string()?;
                    Ok(SubpartitionDefinition { name, options: parser.partition_options()? })
                })?;
            }
            Ok(PartitionDefinition { name, values, options, subpartitions })
        })
    }

    fn partition_values(&mut self) -> Result<PartitionValues> {
        if self.accept(K::Default) {
            return Ok(PartitionValues::Default);
        }
        if !self.accept(K::Values) {
            return Ok(PartitionValues::None);
        }
        if self.accept(K::Less) {
            self.expect(K::Than)?;
            if self.accept(K::Maxvalue) {
                return Ok(PartitionValues::LessThan(vec![PartitionBound::MaxValue]));
            }
            return self.parenthesized_list(Self::partition_bound).map(PartitionValues::LessThan);
        }
        self.expect(K::In)?;
        let rows = self.parenthesized_list(|parser| {
            // A tuple, unless the parentheses belong to an expression of a single bound.
            if parser.at_kind(TokenKind::LeftParen) {
                return parser.parenthesized_list(Self::partition_bound);
            }
            Ok(vec![parser.partition_bound()?])
        })?;
        Ok(PartitionValues::In(rows))
    }

    fn partition_bound(&mut self) -> Result<PartitionBound> {
        if self.accept(K::Maxvalue) {
            return Ok(PartitionBound::MaxValue);
        }
        self.bit_expr().map(PartitionBound::Expr)
    }

    fn partition_options(&mut self) -> Result<Vec<TableOption>> {
        let mut options = Vec::new();
        loop {
            // STORAGE ENGINE is ENGINE here.
            if self.at(K::Storage) && self.peek_is(1, K::Engine) {
                self.advance();
            }
            if self.at(K::Nodegroup) {
                self.advance();
                self.accept_equal();
                let name = Ident::new("NODEGROUP");
                options.push(TableOption::Other { name, value: self.number_text()? });
                continue;
            }
            match self.table_option()? {
                Some(option) => options.push(option),
                None => return Ok(options),
            }
        }
    }
}
