//! Triggers as a part of their table's record.

use crate::bytes::{Malformed, Reader, Writer};
use squall_catalog::{AccountKey, TriggerDef, TriggerEvent, TriggerTime};

pub(crate) fn write_trigger(out: &mut Writer, trigger: &TriggerDef) {
    out.str(&trigger.name);
    out.u8(match trigger.time {
        TriggerTime::Before => 0,
        TriggerTime::After => 1,
    });
    out.u8(match trigger.event {
        TriggerEvent::Insert => 0,
        TriggerEvent::Update => 1,
        TriggerEvent::Delete => 2,
    });
    out.str(&trigger.body);
    out.str(&trigger.definer.user);
    out.str(&trigger.definer.host);
    out.uint(trigger.sql_mode);
    out.str(&trigger.client_charset);
    out.str(&trigger.connection_collation);
    out.str(&trigger.database_collation);
    out.i64(trigger.created_micros);
}

pub(crate) fn read_trigger(reader: &mut Reader<'_>) -> Result<TriggerDef, Malformed> {
    Ok(TriggerDef {
        name: reader.string()?,
        time: match reader.u8()? {
            0 => TriggerTime::Before,
            1 => TriggerTime::After,
            _ => return Err(Malformed),
        },
        event: match reader.u8()? {
            0 => TriggerEvent::Insert,
            1 => TriggerEvent::Update,
            2 => TriggerEvent::Delete,
            _ => return Err(Malformed),
        },
        body: reader.string()?,
        definer: AccountKey::new(reader.string()?, reader.string()?),
        sql_mode: reader.uint()?,
        client_charset: reader.string()?,
        connection_collation: reader.string()?,
        database_collation: reader.string()?,
        created_micros: reader.i64()?,
    })
}
