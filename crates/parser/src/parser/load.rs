//! LOAD DATA, and the description of files it shares with SELECT … INTO OUTFILE.

use super::*;

impl Parser<'_> {
    /// `LOAD …`, behind the word.
    pub(super) fn load(&mut self) -> Result<Statement> {
        if self.accept(K::Index) {
            return self.load_index();
        }
        let xml = self.expect_any(&[K::Data, K::Xml])? == K::Xml;
        let priority = if self.accept(K::LowPriority) {
            Some(LoadPriority::Low)
        } else {
            self.accept(K::Concurrent).then_some(LoadPriority::Concurrent)
        };
        let source = self.load_source()?;
        let path = self.string()?;
        let duplicates = if self.accept(K::Replace) {
            LoadDuplicates::Replace
        } else if self.accept(K::Ignore) {
            LoadDuplicates::Ignore
        } else {
            LoadDuplicates::Default
        };
        self.expect_all(&[K::Into, K::Table])?;
        let table = self.object_name()?;
        let partitions = self.partition_names()?;
        let charset = if self.accept_charset_words()? { Some(self.charset_name()?) } else { None };
        let mut rows_identified_by = None;
        if xml && self.accept(K::Rows) {
            self.expect_all(&[K::Identified, K::By])?;
            rows_identified_by = Some(self.string()?);
        }
        let named_format = if !xml && self.accept_word("FORMAT") { Some(self.named_format()?) } else { None };
        let format = if named_format.is_none() { self.file_format()? } else { FileFormat::default() };
        let null_text = if named_format.is_none() && self.accept_word("DEFINED") {
            self.expect_all(&[K::Null, K::By])?;
            Some(self.sql_string()?)
        } else {
            None
        };
        let trailing_nullcols = named_format.is_none() && self.accept(K::Trailing);
        if trailing_nullcols && !self.accept_word("NULLCOLS") {
            return Err(self.unexpected());
        }
        let mut ignore_lines = 0;
        if named_format.is_none() && self.accept(K::Ignore) {
            ignore_lines = self.unsigned()?;
            self.expect_any(&[K::Lines, K::Rows])?;
        }
        let mut columns = Vec::new();
        if self.accept_kind(TokenKind::LeftParen) {
            if !self.at_kind(TokenKind::RightParen) {
                columns = self.comma_list(Self::variable_target)?;
            }
            self.expect_kind(TokenKind::RightParen)?;
        }
        let assignments = if self.accept(K::Set) { self.assignments()? } else { Vec::new() };
        let mut reject_limit = None;
        if self.accept_word("REJECT") {
            self.expect(K::Limit)?;
            reject_limit = Some(if self.accept_word("UNLIMITED") { u64::MAX } else { self.unsigned()? });
        }
        Ok(Statement::LoadData(Box::new(LoadData {
            xml,
            priority,
            source,
            path,
            duplicates,
            table,
            partitions,
            charset,
            rows_identified_by,
            format,
            named_format,
            null_text,
            trailing_nullcols,
            ignore_lines,
            columns,
            assignments,
            reject_limit,
        })))
    }

    fn load_source(&mut self) -> Result<LoadSource> {
        if self.accept(K::From) {
            self.expect_word("URL")?;
            return Ok(LoadSource::Url);
        }
        let local = self.accept(K::Local);
        self.expect(K::Infile)?;
        Ok(if local { LoadSource::Client } else { LoadSource::Server })
    }

    /// FIELDS and LINES, or nothing.
    pub(super) fn file_format(&mut self) -> Result<FileFormat> {
        let mut format = FileFormat::default();
        if self.accept(K::Fields) || self.accept(K::Columns) {
            let mut any = false;
            loop {
                if self.accept(K::Terminated) {
                    self.expect(K::By)?;
                    format.fields_terminated = Some(self.sql_string()?);
                } else if self.at_any(&[K::Optionally, K::Enclosed]) {
                    if self.accept(K::Optionally) {
                        format.fields_optionally_enclosed = true;
                    }
                    self.expect_all(&[K::Enclosed, K::By])?;
                    format.fields_enclosed = Some(self.sql_string()?);
                } else if self.accept(K::Escaped) {
                    self.expect(K::By)?;
                    format.fields_escaped = Some(self.sql_string()?);
                } else if any {
                    break;
                } else {
                    return Err(self.unexpected());
                }
                any = true;
            }
        }
        if self.at(K::Lines) {
            self.advance();
            let mut any = false;
            loop {
                if self.accept(K::Terminated) {
                    self.expect(K::By)?;
                    format.lines_terminated = Some(self.sql_string()?);
                } else if self.accept(K::Starting) {
                    self.expect(K::By)?;
                    format.lines_starting = Some(self.sql_string()?);
                } else if any {
                    break;
                } else {
                    return Err(self.unexpected());
                }
                any = true;
            }
        }
        Ok(format)
    }

    /// `LOAD INDEX INTO CACHE t [INDEX (…)] [IGNORE LEAVES], …`.
    fn load_index(&mut self) -> Result<Statement> {
        self.expect_all(&[K::Into, K::Cache])?;
        Ok(Statement::LoadIndex { tables: self.cached_tables(true)? })
    }

    /// The tables of the key cache's statements: one with partitions, or any number without. `leaves` says whether IGNORE LEAVES may follow.
    pub(super) fn cached_tables(&mut self, leaves: bool) -> Result<Vec<CachedTable>> {
        let mut tables = vec![self.cached_table(true, leaves)?];
        while tables[0].partitions.is_none() && self.accept_kind(TokenKind::Comma) {
            tables.push(self.cached_table(false, leaves)?);
        }
        Ok(tables)
    }

    /// `t [PARTITION (…)] [INDEX (…)] [IGNORE LEAVES]`.
    fn cached_table(&mut self, with_partitions: bool, leaves: bool) -> Result<CachedTable> {
        let name = self.object_name()?;
        let partitions = match with_partitions && self.accept(K::Partition) {
            true => {
                self.expect_kind(TokenKind::LeftParen)?;
                let partitions = self.all_or_partitions()?;
                self.expect_kind(TokenKind::RightParen)?;
                Some(partitions)
            }
            false => None,
        };
        let indexes = match self.accept(K::Index) || self.accept(K::Key) || self.accept(K::Keys) {
            true => self.parenthesized_list(Self::any_word)?,
            false => Vec::new(),
        };
        let ignore_leaves = leaves && self.accept(K::Ignore);
        if ignore_leaves {
            self.expect(K::Leaves)?;
        }
        Ok(CachedTable { name, partitions, indexes, ignore_leaves })
    }
}
