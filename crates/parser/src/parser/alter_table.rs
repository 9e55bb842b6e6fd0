//! ALTER TABLE.

use super::*;

impl Parser<'_> {
    /// ALTER TABLE, behind the word TABLE.
    pub(super) fn alter_table(&mut self, online: bool, ignore: bool) -> Result<Statement> {
        let if_exists = self.if_exists()?;
        let name = self.object_name()?;
        let mut alter = AlterTable {
            if_exists,
            online,
            ignore,
            name,
            actions: Vec::new(),
            algorithm: None,
            lock: None,
            validation: None,
        };
        let ended = |parser: &Self| matches!(parser.current.kind, TokenKind::Eof | TokenKind::Semicolon);
        while !ended(self) {
            if self.at(K::Partition) && self.peek_is(1, K::By) {
                if let Some(partitioning) = self.partitioning()? {
                    alter.actions.push(AlterAction::PartitionBy(Box::new(partitioning)));
                }
                break;
            }
            if self.accept_both(K::Remove, K::Partitioning) {
                alter.actions.push(AlterAction::RemovePartitioning);
                break;
            }
            let (before, offset) = (alter.actions.len(), self.current.start);
            self.alter_item(&mut alter)?;
            if alter.actions.last().is_some_and(AlterAction::stands_alone) {
                // A change of partitions has no other beside it.
                if before > 0 {
                    return Err(self.syntax_error(offset));
                }
                if self.at_kind(TokenKind::Comma) {
                    return Err(self.unexpected());
                }
            }
            if !self.accept_kind(TokenKind::Comma) {
                // Partitioning follows the other actions without a comma.
                if !(self.at_any(&[K::Partition, K::Remove])) {
                    break;
                }
            } else if ended(self) {
                return Err(self.unexpected());
            }
        }
        Ok(Statement::AlterTable(Box::new(alter)))
    }

    fn alter_item(&mut self, alter: &mut AlterTable) -> Result<()> {
        match self.keyword() {
            K::Algorithm => {
                self.advance();
                self.accept_equal();
                alter.algorithm = Some(self.any_word()?);
            }
            K::Lock => {
                self.advance();
                self.accept_equal();
                alter.lock = Some(self.any_word()?);
            }
            K::With | K::Without if self.peek_is(1, K::Validation) => {
                alter.validation = Some(self.advance().keyword == K::With);
                self.advance();
            }
            K::Add => {
                self.advance();
                self.alter_add(&mut alter.actions)?;
            }
            // `ADD a TEXT, FULLTEXT (a)`: no word ADD is needed, as in CREATE TABLE.
            K::Fulltext => self.alter_add(&mut alter.actions)?,
            _ => {
                let action = self.alter_action()?;
                // EXCHANGE PARTITION has its own place for it.
                if matches!(action, AlterAction::ExchangePartition { .. })
                    && self.at_any(&[K::With, K::Without])
                    && self.peek_is(1, K::Validation)
                {
                    alter.validation = Some(self.advance().keyword == K::With);
                    self.advance();
                }
                alter.actions.push(action);
            }
        }
        Ok(())
    }

    fn alter_add(&mut self, actions: &mut Vec<AlterAction>) -> Result<()> {
        self.charge(memory::listed::<AlterAction>());
        if self.at(K::Partition) {
            self.advance();
            self.no_write_to_binlog();
            let (mut definitions, mut count) = (Vec::new(), None);
            if self.accept(K::Partitions) {
                count = Some(self.unsigned()?);
            } else {
                definitions = self.partition_definitions()?;
            }
            actions.push(AlterAction::AddPartition { definitions, count });
            return Ok(());
        }
        if let Some(constraint) = self.table_constraint()? {
            actions.push(AlterAction::AddConstraint(constraint));
            return Ok(());
        }
        self.accept(K::Column);
        let if_not_exists = self.if_not_exists()?;
        if self.accept_kind(TokenKind::LeftParen) {
            loop {
                self.charge(memory::listed::<AlterAction>());
                if let Some(constraint) = self.table_constraint()? {
                    actions.push(AlterAction::AddConstraint(constraint));
                } else {
                    let column = Box::new(self.column_definition()?);
                    actions.push(AlterAction::AddColumn { if_not_exists, column, position: None });
                }
                if !self.accept_kind(TokenKind::Comma) {
                    break;
                }
            }
            return self.expect_kind(TokenKind::RightParen);
        }
        let column = Box::new(self.column_definition()?);
        let position = self.column_position()?;
        actions.push(AlterAction::AddColumn { if_not_exists, column, position });
        Ok(())
    }

    fn column_position(&mut self) -> Result<Option<ColumnPosition>> {
        if self.accept(K::First) {
            return Ok(Some(ColumnPosition::First));
        }
        if self.accept(K::After) {
            return Ok(Some(ColumnPosition::After(self.ident()?)));
        }
        Ok(None)
    }

    fn alter_action(&mut self) -> Result<AlterAction> {
        let keyword = self.current.keyword;
        if self.peek_is(1, K::Partition)
            && let Some(action) = self.alter_partition(keyword)?
        {
            return Ok(action);
        }
        let action = match keyword {
            K::Change => {
                self.advance();
                self.accept(K::Column);
                let if_exists = self.if_exists()?;
                let old = self.column_name()?.column;
                let column = Box::new(self.column_definition()?);
                AlterAction::ChangeColumn { if_exists, old, column, position: self.column_position()? }
            }
            K::Modify => {
                self.advance();
                self.accept(K::Column);
                let if_exists = self.if_exists()?;
                let column = Box::new(self.column_definition()?);
                AlterAction::ModifyColumn { if_exists, column, position: self.column_position()? }
            }
            K::Drop => {
                self.advance();
                self.alter_drop()?
            }
            K::Alter => {
                self.advance();
                self.alter_alter()?
            }
            K::Rename => {
                self.advance();
                self.alter_rename()?
            }
            K::Convert => self.alter_charset()?,
            K::Order => AlterAction::OrderBy(self.order_by_columns()?),
            K::Enable | K::Disable if self.peek_is(1, K::Keys) => {
                self.advance();
                self.advance();
                if keyword == K::Enable { AlterAction::EnableKeys } else { AlterAction::DisableKeys }
            }
            K::Force => {
                self.advance();
                AlterAction::Force
            }
            K::Discard | K::Import => self.alter_tablespace()?,
            K::SecondaryLoad => {
                self.advance();
                AlterAction::SecondaryLoad
            }
            K::SecondaryUnload => {
                self.advance();
                AlterAction::SecondaryUnload
            }
            _ => {
                let mut options = Vec::new();
                while let Some(option) = self.table_option()? {
                    options.push(option);
                }
                if options.is_empty() {
                    return Err(self.unexpected());
                }
                AlterAction::Options(options)
            }
        };
        Ok(action)
    }

    fn alter_charset(&mut self) -> Result<AlterAction> {
        self.advance();
        self.expect(K::To)?;
        if !self.accept_charset_words()? {
            return Err(self.unexpected());
        }
        let charset = if self.accept(K::Default) { None } else { Some(self.charset_name()?) };
        let collation = if self.accept(K::Collate) { Some(self.collation_name()?) } else { None };
        Ok(AlterAction::ConvertCharset { charset, collation })
    }

    /// DISCARD or IMPORT of tablespaces.
    fn alter_tablespace(&mut self) -> Result<AlterAction> {
        let discards = self.advance().keyword == K::Discard;
        let partitions = if self.accept(K::Partition) { Some(self.all_or_partitions()?) } else { None };
        self.expect(K::Tablespace)?;
        Ok(match (discards, partitions) {
            (true, None) => AlterAction::DiscardTablespace,
            (true, Some(names)) => AlterAction::DiscardPartitionTablespace(names),
            (false, None) => AlterAction::ImportTablespace,
            (false, Some(names)) => AlterAction::ImportPartitionTablespace(names),
        })
    }

    /// A verb before PARTITION, except those that have other forms too. `None`: it is no such verb, and nothing is passed.
    fn alter_partition(&mut self, verb: K) -> Result<Option<AlterAction>> {
        Ok(Some(match verb {
            K::Truncate => AlterAction::TruncatePartition(self.partition_action()?),
            K::Analyze => AlterAction::AnalyzePartition(self.partition_action()?),
            K::Check => {
                let names = self.partition_action()?;
                while self.at_any(&[K::For, K::Quick, K::Fast, K::Medium, K::Extended, K::Changed]) {
                    if self.advance().keyword == K::For {
                        self.expect(K::Upgrade)?;
                    }
                }
                AlterAction::CheckPartition(names)
            }
            K::Optimize => AlterAction::OptimizePartition(self.partition_action()?),
            K::Rebuild => AlterAction::RebuildPartition(self.partition_action()?),
            K::Repair => {
                let names = self.partition_action()?;
                while self.at_any(&[K::Quick, K::Extended, K::UseFrm]) {
                    self.advance();
                }
                AlterAction::RepairPartition(names)
            }
            K::Coalesce => {
                self.advance();
                self.advance();
                self.no_write_to_binlog();
                AlterAction::CoalescePartition(self.unsigned()?)
            }
            K::Reorganize => {
                self.advance();
                self.advance();
                self.no_write_to_binlog();
                let names = if self.at(K::Into) { Vec::new() } else { self.ident_list_if_any()? };
                let mut definitions = Vec::new();
                if self.accept(K::Into) {
                    definitions = self.partition_definitions()?;
                }
                AlterAction::ReorganizePartition { names, definitions }
            }
            K::Exchange => {
                self.advance();
                self.advance();
                let partition = self.ident()?;
                self.expect_all(&[K::With, K::Table])?;
                AlterAction::ExchangePartition { partition, table: self.object_name()? }
            }
            _ => return Ok(None),
        }))
    }

    fn ident_list_if_any(&mut self) -> Result<Vec<Ident>> {
        if self.at_ident() { self.ident_list() } else { Ok(Vec::new()) }
    }

    /// NO_WRITE_TO_BINLOG and LOCAL: whether one was here.
    pub(super) fn no_write_to_binlog(&mut self) -> bool {
        self.accept(K::NoWriteToBinlog) || self.accept(K::Local)
    }

    /// A verb, PARTITION and names or ALL.
    fn partition_action(&mut self) -> Result<PartitionNames> {
        self.advance();
        self.advance();
        self.no_write_to_binlog();
        self.all_or_partitions()
    }

    pub(super) fn all_or_partitions(&mut self) -> Result<PartitionNames> {
        if self.accept(K::All) {
            return Ok(PartitionNames::All);
        }
        self.ident_list().map(PartitionNames::Names)
    }

    fn alter_drop(&mut self) -> Result<AlterAction> {
        Ok(match self.keyword() {
            K::Primary => {
                self.advance();
                self.expect(K::Key)?;
                AlterAction::DropPrimaryKey
            }
            K::Index | K::Key => {
                self.advance();
                AlterAction::DropIndex { if_exists: self.if_exists()?, name: self.ident_or_primary()? }
            }
            K::Foreign => {
                self.advance();
                self.expect(K::Key)?;
                AlterAction::DropForeignKey { if_exists: self.if_exists()?, name: self.ident()? }
            }
            K::Check => {
                self.advance();
                AlterAction::DropCheck { name: self.ident()? }
            }
            K::Constraint => {
                self.advance();
                AlterAction::DropConstraint { if_exists: self.if_exists()?, name: self.ident_or_primary()? }
            }
            K::Partition => {
                self.advance();
                AlterAction::DropPartition { if_exists: self.if_exists()?, names: self.ident_list()? }
            }
            _ => {
                self.accept(K::Column);
                let if_exists = self.if_exists()?;
                let name = self.column_name()?.column;
                AlterAction::DropColumn { if_exists, name, behavior: self.drop_behavior() }
            }
        })
    }

    /// A name, which PRIMARY may be too.
    fn ident_or_primary(&mut self) -> Result<Ident> {
        if self.at(K::Primary) {
            let token = self.advance();
            return self.ident_of(token);
        }
        self.ident()
    }

    pub(super) fn drop_behavior(&mut self) -> Option<DropBehavior> {
        if self.accept(K::Restrict) {
            return Some(DropBehavior::Restrict);
        }
        self.accept(K::Cascade).then_some(DropBehavior::Cascade)
    }

    fn alter_alter(&mut self) -> Result<AlterAction> {
        Ok(match self.keyword() {
            K::Index | K::Key => {
                self.advance();
                let index = self.ident()?;
                let visible = if self.accept_both(K::Not, K::Ignored) {
                    true
                } else {
                    self.expect_any(&[K::Visible, K::Invisible, K::Ignored])? == K::Visible
                };
                AlterAction::SetIndexVisible { index, visible }
            }
            K::Check => {
                self.advance();
                let name = self.ident()?;
                AlterAction::SetCheckEnforced { name, enforced: self.enforced()? }
            }
            K::Constraint => {
                self.advance();
                let name = self.ident()?;
                AlterAction::SetConstraintEnforced { name, enforced: self.enforced()? }
            }
            _ => {
                self.accept(K::Column);
                let column = self.column_name()?.column;
                if self.accept(K::Drop) {
                    self.expect(K::Default)?;
                    return Ok(AlterAction::DropDefault { column });
                }
                self.expect(K::Set)?;
                if self.at_any(&[K::Visible, K::Invisible]) {
                    let visible = self.advance().keyword == K::Visible;
                    return Ok(AlterAction::SetColumnVisible { column, visible });
                }
                self.expect(K::Default)?;
                AlterAction::SetDefault { column, value: self.default_value()? }
            }
        })
    }

    fn enforced(&mut self) -> Result<bool> {
        let not = self.accept(K::Not);
        self.expect(K::Enforced)?;
        Ok(!not)
    }

    fn alter_rename(&mut self) -> Result<AlterAction> {
        if self.accept(K::Column) {
            let old = self.ident()?;
            self.expect(K::To)?;
            return Ok(AlterAction::RenameColumn { old, new: self.ident()? });
        }
        if self.accept(K::Index) || self.accept(K::Key) {
            let old = self.ident()?;
            self.expect(K::To)?;
            return Ok(AlterAction::RenameIndex { old, new: self.ident()? });
        }
        let _ = self.accept(K::To) || self.accept(K::As) || self.accept_kind(TokenKind::Equal);
        Ok(AlterAction::RenameTable(self.object_name()?))
    }
}
