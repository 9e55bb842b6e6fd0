//! CREATE EVENT and ALTER EVENT.

use super::ddl::CreatePrefix;
use super::*;

impl Parser<'_> {
    pub(super) fn create_event(&mut self, prefix: CreatePrefix, alter: bool) -> Result<Statement> {
        let if_not_exists = !alter && self.if_not_exists()?;
        let name = self.object_name()?;
        let named = self.current.start;
        let mut event = CreateEvent {
            alter,
            or_replace: prefix.or_replace,
            if_not_exists,
            definer: prefix.definer,
            name,
            schedule: None,
            preserve: None,
            rename: None,
            status: None,
            comment: None,
            body: None,
            body_span: Span::default(),
        };
        if self.at(K::On) && self.peek_is(1, K::Schedule) {
            self.advance();
            self.advance();
            event.schedule = Some(self.schedule()?);
        } else if !alter {
            return Err(self.unexpected());
        }
        if self.accept(K::On) {
            self.expect(K::Completion)?;
            let not = self.accept(K::Not);
            self.expect(K::Preserve)?;
            event.preserve = Some(!not);
        }
        if alter && self.accept(K::Rename) {
            self.expect(K::To)?;
            event.rename = Some(self.object_name()?);
        }
        if self.accept(K::Enable) {
            event.status = Some(EventStatus::Enabled);
        } else if self.accept(K::Disable) {
            event.status = Some(EventStatus::Disabled);
            if self.accept(K::On) {
                self.expect_any(&[K::Replica, K::Slave])?;
                event.status = Some(EventStatus::DisabledOnReplica);
            }
        }
        if self.accept(K::Comment) {
            event.comment = Some(self.string()?);
        }
        if self.accept(K::Do) {
            let (body, span) = self.body_with_span()?;
            event.body = Some(Box::new(body));
            event.body_span = span;
        } else if !alter || self.current.start == named {
            return Err(self.unexpected());
        }
        Ok(Statement::CreateEvent(Box::new(event)))
    }

    fn schedule(&mut self) -> Result<Schedule> {
        if self.accept(K::At) {
            return Ok(Schedule::At(self.expr()?));
        }
        self.expect(K::Every)?;
        let value = self.expr()?;
        let unit = self.interval_unit()?;
        let starts = if self.accept(K::Starts) { Some(self.expr()?) } else { None };
        let ends = if self.accept(K::Ends) { Some(self.expr()?) } else { None };
        Ok(Schedule::Every { value, unit, starts, ends })
    }
}
