//! Stored procedures and functions as records.

use crate::bytes::{Malformed, Reader, Writer};
use crate::catalog_codec::{read_type, write_type};
use squall_catalog::{AccountKey, RoutineDef, RoutineKind, RoutineParameter, RoutineParameterMode, SqlDataAccess};

const VERSION: u8 = 1;
/// That of aggregate functions, which is all that makes them such.
const VERSION_AGGREGATE: u8 = 2;

pub(crate) fn encode_routine(routine: &RoutineDef) -> Vec<u8> {
    let mut out = Writer::new(if routine.aggregate { VERSION_AGGREGATE } else { VERSION });
    out.str(&routine.name);
    out.bool(routine.kind.is_function());
    out.list(&routine.parameters, |out, parameter| {
        out.str(&parameter.name);
        out.u8(match parameter.mode {
            RoutineParameterMode::In => 0,
            RoutineParameterMode::Out => 1,
            RoutineParameterMode::InOut => 2,
        });
        write_type(out, &parameter.sql_type);
    });
    out.str(&routine.parameters_text);
    out.option(routine.returns.as_ref(), write_type);
    out.str(&routine.body);
    out.bool(routine.deterministic);
    out.u8(match routine.data_access {
        SqlDataAccess::ContainsSql => 0,
        SqlDataAccess::NoSql => 1,
        SqlDataAccess::ReadsSqlData => 2,
        SqlDataAccess::ModifiesSqlData => 3,
    });
    out.bool(routine.security_invoker);
    out.str(&routine.comment);
    out.str(&routine.definer.user);
    out.str(&routine.definer.host);
    out.uint(routine.sql_mode);
    out.str(&routine.client_charset);
    out.str(&routine.connection_collation);
    out.str(&routine.database_collation);
    out.i64(routine.created_micros);
    out.i64(routine.altered_micros);
    out.finish()
}

pub(crate) fn decode_routine(record: &[u8]) -> Result<RoutineDef, Malformed> {
    let reader = &mut Reader::new(record);
    let aggregate = match reader.u8()? {
        VERSION => false,
        VERSION_AGGREGATE => true,
        _ => return Err(Malformed),
    };
    Ok(RoutineDef {
        name: reader.string()?,
        kind: if reader.bool()? { RoutineKind::Function } else { RoutineKind::Procedure },
        parameters: reader.list(|reader| {
            Ok(RoutineParameter {
                name: reader.string()?,
                mode: match reader.u8()? {
                    0 => RoutineParameterMode::In,
                    1 => RoutineParameterMode::Out,
                    2 => RoutineParameterMode::InOut,
                    _ => return Err(Malformed),
                },
                sql_type: read_type(reader)?,
            })
        })?,
        parameters_text: reader.string()?,
        returns: reader.option(read_type)?,
        body: reader.string()?,
        aggregate,
        deterministic: reader.bool()?,
        data_access: match reader.u8()? {
            0 => SqlDataAccess::ContainsSql,
            1 => SqlDataAccess::NoSql,
            2 => SqlDataAccess::ReadsSqlData,
            3 => SqlDataAccess::ModifiesSqlData,
            _ => return Err(Malformed),
        },
        security_invoker: reader.bool()?,
        comment: reader.string()?,
        definer: AccountKey::new(reader.string()?, reader.string()?),
        sql_mode: reader.uint()?,
        client_charset: reader.string()?,
        connection_collation: reader.string()?,
        database_collation: reader.string()?,
        created_micros: reader.i64()?,
        altered_micros: reader.i64()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use squall_types::SqlType;

    #[test]
    fn every_field_comes_back_and_damaged_records_are_errors() {
        let routine = RoutineDef {
            name: "Größe".into(),
            kind: RoutineKind::Function,
            parameters: vec![
                RoutineParameter { name: "a".into(), mode: RoutineParameterMode::In, sql_type: SqlType::BIGINT },
                RoutineParameter { name: "b".into(), mode: RoutineParameterMode::InOut, sql_type: SqlType::Json },
            ],
            parameters_text: "a BIGINT, b JSON".into(),
            returns: Some(SqlType::DateTime { fsp: 3 }),
            body: "RETURN 1".into(),
            aggregate: false,
            deterministic: true,
            data_access: SqlDataAccess::ReadsSqlData,
            security_invoker: true,
            comment: "c".into(),
            definer: AccountKey::new("u", "%"),
            sql_mode: u64::MAX,
            client_charset: "utf8mb4".into(),
            connection_collation: "utf8mb4_bin".into(),
            database_collation: "latin1_swedish_ci".into(),
            created_micros: -1,
            altered_micros: 7,
        };
        let record = encode_routine(&routine);
        assert_eq!(decode_routine(&record).unwrap(), routine);
        assert!((0..record.len()).all(|end| decode_routine(&record[..end]).is_err()));
        let aggregate = RoutineDef { aggregate: true, ..routine };
        assert_eq!(decode_routine(&encode_routine(&aggregate)).unwrap(), aggregate);
    }
}
