//! Makes [`IndexDef`]s of keys, with MySQL's rules and limits.

use crate::context::DdlContext;
use crate::functional_key::{add_cells_column, add_hidden_column};
use crate::long_key::{KEY_BYTES_MAX, are_too_long, part_bytes, too_long};
use crate::names::check_index_name;
use squall_catalog::name::eq_ignore_case;
use squall_catalog::{
    ColumnDef, ColumnId, IndexDef, IndexId, IndexPart, IndexType, JSON_PARSER, NGRAM_PARSER, TableDef, VectorGraph,
};
use squall_parser::ast::{Ident, IndexDefinition, IndexKind, KeyPart, KeyPartSource};
use squall_row_store::TableFeature;
use squall_types::vector::Metric;
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, StringKind};
use squall_vector_index::{LINKS_DEFAULT, LINKS_MAX, LINKS_MIN};

/// Most secondary keys of a table.
const KEYS_MAX: usize = 64;
/// Most parts of a key.
const PARTS_MAX: usize = 16;
/// The name of a key without one that begins with a functional part.
const FUNCTIONAL_NAME: &str = "functional_index";

/// Adds a key to a table whose columns are resolved. Columns of a primary key become NOT NULL, and keys that were generated for foreign
/// keys give way to one that begins with their columns.
pub fn add_index(table: &mut TableDef, definition: &IndexDefinition, context: &DdlContext<'_>) -> SqlResult<()> {
    let primary = definition.kind == IndexKind::Primary;
    if primary && table.primary_key().is_some() {
        return Err(SqlError::new(ErrorCode::MultiplePrimaryKey, &[]));
    }
    match definition.kind {
        IndexKind::Fulltext => return add_fulltext(table, definition, context),
        IndexKind::Columnar => return add_columnar(table, definition, context),
        IndexKind::Spatial => return add_spatial(table, definition, context),
        IndexKind::Vector => return add_vector(table, definition, context),
        _ => {}
    }
    let given = definition.name.as_ref().or(definition.constraint.as_ref());
    let shown_name = given.map_or(FUNCTIONAL_NAME, |name| name.as_str()).to_string();
    let mut parts = Vec::with_capacity(definition.parts.len());
    for (at, part) in definition.parts.iter().enumerate() {
        parts.push(resolve_part(table, part, (&shown_name, at), definition, context)?);
    }
    let multi_valued = check_arrays(table, &parts)?;
    let hashed = may_be_hashed(definition) && !multi_valued && are_too_long(table, &parts);
    check_parts(table, &parts, hashed)?;
    // Before the key gets its name, which may be theirs. Rows are not found by some columns of a key of hashes.
    table.indexes.retain(|index| hashed || !index.generated || !index.is_prefix_of(&parts));
    if primary {
        if definition.options.visible == Some(false) {
            return Err(SqlError::new(ErrorCode::PrimaryKeyInvisible, &[]));
        }
        for part in &parts {
            if let Some(column) = table.columns.iter_mut().find(|column| column.id == part.column) {
                require_not_null(column)?;
            }
        }
    }
    let name = match given {
        _ if primary => "PRIMARY".to_string(),
        Some(name) => checked_name(table, name)?,
        None => default_name(table, &parts),
    };
    let given_type = match &definition.options.algorithm {
        Some(word) => IndexType::of_name(&word.to_ascii_uppercase())
            .filter(|known| matches!(known, IndexType::BTree | IndexType::Hash | IndexType::Bitmap))
            .ok_or_else(|| SqlError::unsupported(format_args!("USING {}", word.as_str())))?,
        None => IndexType::BTree,
    };
    let index_type = match given_type {
        IndexType::Bitmap
            if definition.kind != IndexKind::Plain || context.engine_traits(table)?.plain_keys != IndexType::Bitmap =>
        {
            let mut with_bitmaps =
                context.engines.all().filter(|engine| engine.traits().plain_keys == IndexType::Bitmap);
            let engine = with_bitmaps.next().map_or("", |engine| engine.name());
            let what = format_args!("USING BITMAP for other keys than plain ones of ENGINE={engine} tables");
            return Err(SqlError::unsupported(what));
        }
        IndexType::BTree | IndexType::Hash if multi_valued => IndexType::MultiValued,
        IndexType::BTree | IndexType::Hash if hashed => IndexType::LongHash,
        given_type => given_type,
    };
    if definition.options.parser.is_some() {
        return Err(SqlError::unsupported("WITH PARSER"));
    }
    push_index(table, definition, given, name, parts, index_type)
}

/// Whether a key may be one of hashes if it is too long for one of its values: UNIQUE, and not USING BTREE.
fn may_be_hashed(definition: &IndexDefinition) -> bool {
    let is_tree = definition.options.algorithm.as_ref().is_some_and(|word| !word.is(IndexType::Hash.name()));
    definition.kind == IndexKind::Unique && !is_tree
}

/// Adds the key that a foreign key needs.
pub fn add_generated_index(
    table: &mut TableDef,
    definition: &IndexDefinition,
    context: &DdlContext<'_>,
) -> SqlResult<()> {
    let known = table.next_index_id;
    add_index(table, definition, context)?;
    for index in table.indexes.iter_mut().filter(|index| index.id.0 >= known) {
        index.generated = true;
    }
    Ok(())
}

fn push_index(
    table: &mut TableDef,
    definition: &IndexDefinition,
    given: Option<&Ident>,
    name: String,
    parts: Vec<IndexPart>,
    index_type: IndexType,
) -> SqlResult<()> {
    let primary = definition.kind == IndexKind::Primary;
    let index = IndexDef {
        unique: primary || definition.kind == IndexKind::Unique,
        primary,
        invisible: definition.options.visible == Some(false),
        comment: index_comment(definition.options.comment.as_deref(), given)?,
        index_type,
        ..IndexDef::new(IndexId(table.next_index_id), name, parts)
    };
    table.next_index_id += 1;
    if primary {
        table.indexes.insert(0, index);
    } else {
        table.indexes.push(index);
    }
    if table.indexes.iter().filter(|index| !index.primary).count() > KEYS_MAX {
        return Err(SqlError::new(ErrorCode::TooManyKeys, &[&KEYS_MAX]));
    }
    Ok(())
}

/// Adds a key of words, of pieces of them (WITH PARSER ngram), or of documents: those of JSON columns, and of others WITH PARSER
/// json_kv.
fn add_fulltext(table: &mut TableDef, definition: &IndexDefinition, context: &DdlContext<'_>) -> SqlResult<()> {
    check_takes(table, TableFeature::FulltextKeys, context)?;
    let mut parts: Vec<IndexPart> = Vec::with_capacity(definition.parts.len());
    let (mut documents, mut collation) = (0, None);
    for part in &definition.parts {
        let KeyPartSource::Column { name, .. } = &part.source else {
            return Err(SqlError::new(ErrorCode::FulltextFunctionalIndex, &[]));
        };
        let (_, column) =
            table.column(name).ok_or_else(|| SqlError::new(ErrorCode::KeyColumnDoesNotExist, &[&name.as_str()]))?;
        match &column.sql_type {
            SqlType::Json => documents += 1,
            SqlType::String { collation: own, .. } if *own != squall_types::CollationId::BINARY => {
                if *collation.get_or_insert(*own) != *own {
                    return Err(SqlError::new(ErrorCode::BadFulltextColumn, &[&column.name]));
                }
            }
            _ => {
                return Err(SqlError::new(ErrorCode::BadFulltextColumn, &[&column.name]));
            }
        }
        if parts.iter().any(|other| other.column == column.id) {
            return Err(SqlError::new(ErrorCode::DuplicateFieldName, &[&column.name]));
        }
        parts.push(IndexPart { column: column.id, prefix: None, descending: false });
    }
    let index_type = match &definition.options.parser {
        Some(parser) if parser.is(JSON_PARSER) => IndexType::Json,
        Some(parser) if parser.is(NGRAM_PARSER) && documents > 0 => {
            return Err(SqlError::unsupported("WITH PARSER ngram for JSON columns"));
        }
        Some(parser) if parser.is(NGRAM_PARSER) => IndexType::Ngram,
        Some(parser) => {
            return Err(SqlError::new(ErrorCode::FunctionNotDefined, &[&parser.as_str()]));
        }
        None if documents == parts.len() => IndexType::Json,
        None if documents == 0 => IndexType::FullText,
        None => return Err(SqlError::unsupported("FULLTEXT keys of documents and texts without WITH PARSER json_kv")),
    };
    let given = definition.name.as_ref().or(definition.constraint.as_ref());
    let name = match given {
        Some(name) => checked_name(table, name)?,
        None => default_name(table, &parts),
    };
    push_index(table, definition, given, name, parts, index_type)
}

/// The column of a spatial key stays a geometry that is not NULL, of the SRID that it had in the table before.
pub fn check_spatial_keys(table: &TableDef, before: &TableDef) -> SqlResult<()> {
    for index in table.indexes.iter().filter(|index| index.is_spatial()) {
        let Some(column) = index.parts.first().and_then(|part| table.part_column(part)) else { continue };
        let Some(geometry) = column.sql_type.geometry_type() else {
            return Err(SqlError::new(ErrorCode::SpatialMustHaveGeometryColumn, &[]));
        };
        if column.nullable {
            return Err(SqlError::new(ErrorCode::SpatialCannotHaveNull, &[]));
        }
        let had_key = before.indexes.iter().any(|old| old.id == index.id);
        let old = before.ordinal(column.id).map(|at| &before.columns[at]).filter(|_| had_key);
        if let Some(old) = old
            && old.sql_type.geometry_type().is_none_or(|old| old.srid != geometry.srid)
        {
            return Err(SqlError::new(ErrorCode::CannotAlterSridDueToIndex, &[&old.name]));
        }
    }
    Ok(())
}

fn no_spatial_keys() -> SqlError {
    SqlError::unsupported("SPATIAL keys of ENGINE=COLUMN tables; their conditions read all rows")
}

/// Adds a key of the cells that geometries lie in.
fn add_spatial(table: &mut TableDef, definition: &IndexDefinition, context: &DdlContext<'_>) -> SqlResult<()> {
    let [part] = definition.parts.as_slice() else {
        return Err(SqlError::new(ErrorCode::TooManyKeyParts, &[&1]));
    };
    let KeyPartSource::Column { name, length } = &part.source else {
        return Err(SqlError::new(ErrorCode::SpatialFunctionalIndex, &[]));
    };
    if let Some(algorithm) = &definition.options.algorithm {
        return Err(SqlError::new(ErrorCode::IndexTypeNotForSpatialIndex, &[&algorithm.as_str().to_ascii_uppercase()]));
    }
    if context.engine_traits(table)?.plain_keys == IndexType::Bitmap {
        return Err(no_spatial_keys());
    }
    let (_, column) =
        table.column(name).ok_or_else(|| SqlError::new(ErrorCode::KeyColumnDoesNotExist, &[&name.as_str()]))?;
    let Some(geometry) = column.sql_type.geometry_type() else {
        return Err(SqlError::new(ErrorCode::SpatialMustHaveGeometryColumn, &[]));
    };
    if length.is_some() || part.descending {
        return Err(SqlError::new(ErrorCode::WrongUsage, &[&"spatial/fulltext/hash index", &"explicit index order"]));
    }
    if column.nullable {
        return Err(SqlError::new(ErrorCode::SpatialCannotHaveNull, &[]));
    }
    let column = column.clone();
    if geometry.srid.is_none() {
        context.statement.diagnostics.warn(SqlError::new(ErrorCode::UselessSpatialIndex, &[&column.name]));
    }
    let given = definition.name.as_ref().or(definition.constraint.as_ref());
    let name = match given {
        Some(name) => checked_name(table, name)?,
        None => free_name(table, &column.name),
    };
    let cells = add_cells_column(table, &column, &name, context)?;
    let parts = vec![IndexPart { column: cells, prefix: None, descending: false }];
    push_index(table, definition, given, name, parts, IndexType::Spatial)
}

/// Adds a copy of columns: of those that are given, or of all.
fn add_columnar(table: &mut TableDef, definition: &IndexDefinition, context: &DdlContext<'_>) -> SqlResult<()> {
    check_takes(table, TableFeature::ColumnarKeys, context)?;
    if table.temporary {
        return Err(SqlError::unsupported("COLUMNAR keys of TEMPORARY tables"));
    }
    if table.column_copy().is_some() {
        return Err(SqlError::unsupported("more than one COLUMNAR key of a table"));
    }
    if definition.options.algorithm.is_some() || definition.options.parser.is_some() {
        return Err(SqlError::unsupported("USING and WITH PARSER of COLUMNAR keys"));
    }
    let mut parts: Vec<IndexPart> = Vec::with_capacity(definition.parts.len());
    for part in &definition.parts {
        let KeyPartSource::Column { name, length: None } = &part.source else {
            return Err(SqlError::unsupported("prefixes and functional parts of COLUMNAR keys"));
        };
        let (_, column) =
            table.column(name).ok_or_else(|| SqlError::new(ErrorCode::KeyColumnDoesNotExist, &[&name.as_str()]))?;
        if parts.iter().any(|other| other.column == column.id) {
            return Err(SqlError::new(ErrorCode::DuplicateFieldName, &[&column.name]));
        }
        parts.push(IndexPart { column: column.id, prefix: None, descending: false });
    }
    if parts.is_empty() {
        let all = table.named_columns().iter().map(|column| column.id);
        parts = all.map(|column| IndexPart { column, prefix: None, descending: false }).collect();
    }
    let given = definition.name.as_ref();
    let name = match given {
        Some(name) => checked_name(table, name)?,
        None => free_name(table, "columnar"),
    };
    push_index(table, definition, given, name, parts, IndexType::Columnar)
}

/// Adds a graph of a column's vectors.
fn add_vector(table: &mut TableDef, definition: &IndexDefinition, context: &DdlContext<'_>) -> SqlResult<()> {
    let [part] = definition.parts.as_slice() else {
        return Err(SqlError::new(ErrorCode::TooManyKeyParts, &[&1]));
    };
    let KeyPartSource::Column { name, length: None } = &part.source else {
        return Err(wrong_vector_key());
    };
    if part.descending || definition.options.algorithm.is_some() || definition.options.parser.is_some() {
        return Err(wrong_vector_key());
    }
    let (_, column) =
        table.column(name).ok_or_else(|| SqlError::new(ErrorCode::KeyColumnDoesNotExist, &[&name.as_str()]))?;
    check_vector_column(column)?;
    if context.engine_traits(table)?.plain_keys == IndexType::Bitmap {
        return Err(no_vector_keys());
    }
    let column = column.clone();
    let options = &definition.options;
    let wrong = |option: &str, value: &str| SqlError::new(ErrorCode::WrongValue, &[&option, &value]);
    let links = match &options.links {
        Some(value) => {
            let links: Option<u8> = value.parse().ok();
            links.filter(|links| (LINKS_MIN..=LINKS_MAX).contains(links)).ok_or_else(|| wrong("M", value))?
        }
        None => LINKS_DEFAULT,
    };
    let metric = match &options.distance {
        Some(value) => Metric::of_name(value).ok_or_else(|| wrong("DISTANCE", value))?,
        None => Metric::Euclidean,
    };
    let given = definition.name.as_ref();
    let name = match given {
        Some(name) => checked_name(table, name)?,
        None => free_name(table, &column.name),
    };
    let parts = vec![IndexPart { column: column.id, prefix: None, descending: false }];
    push_index(table, definition, given, name, parts, IndexType::Vector(VectorGraph { metric, links }))
}

/// A vector key is of vectors, which are never NULL.
fn check_vector_column(column: &ColumnDef) -> SqlResult<()> {
    if !column.sql_type.is_vector() {
        return Err(wrong_vector_key());
    }
    if column.nullable {
        let message = "All parts of a VECTOR index must be NOT NULL";
        return Err(SqlError::with_message(ErrorCode::SpatialCannotHaveNull, message));
    }
    Ok(())
}

/// The columns of vector keys stay what they have to be.
pub fn check_vector_keys(table: &TableDef) -> SqlResult<()> {
    for index in table.indexes.iter().filter(|index| index.is_vector()) {
        index.parts.iter().filter_map(|part| table.part_column(part)).try_for_each(check_vector_column)?;
    }
    Ok(())
}

fn wrong_vector_key() -> SqlError {
    SqlError::new(ErrorCode::WrongArguments, &[&"VECTOR INDEX"])
}

fn no_vector_keys() -> SqlError {
    SqlError::unsupported("VECTOR keys of ENGINE=COLUMN tables; what is nearest is found by reading all rows")
}

/// The table's engine takes keys that not all engines take.
fn check_takes(table: &TableDef, feature: TableFeature, context: &DdlContext<'_>) -> SqlResult<()> {
    if !context.engine_traits(table)?.refuses(feature) {
        return Ok(());
    }
    let keys = if feature == TableFeature::ColumnarKeys { "COLUMNAR" } else { "FULLTEXT" };
    Err(SqlError::unsupported(format_args!("{keys} keys of ENGINE={} tables", table.engine.as_str())))
}

/// Plain keys are bitmap indexes where the engine makes them so, and trees in others.
pub fn resolve_index_kinds(table: &mut TableDef, context: &DdlContext<'_>) -> SqlResult<()> {
    if table.indexes.iter().any(IndexDef::is_fulltext) {
        check_takes(table, TableFeature::FulltextKeys, context)?;
    }
    if table.column_copy().is_some() {
        check_takes(table, TableFeature::ColumnarKeys, context)?;
    }
    let has_bitmaps = context.engine_traits(table)?.plain_keys == IndexType::Bitmap;
    if has_bitmaps && table.indexes.iter().any(IndexDef::is_vector) {
        return Err(no_vector_keys());
    }
    let of_elements = |column: &&ColumnDef| column.element_type().is_some();
    let arrays: Vec<ColumnId> = table.columns.iter().filter(of_elements).map(|column| column.id).collect();
    for index in table.indexes.iter_mut().filter(|index| !index.unique) {
        if has_bitmaps && index.is_spatial() {
            return Err(no_spatial_keys());
        } else if has_bitmaps {
            index.index_type = IndexType::Bitmap;
            // A bitmap is of whole values, in whichever order.
            for part in &mut index.parts {
                (part.prefix, part.descending) = (None, false);
            }
        } else if index.is_bitmap() {
            let multi_valued = index.parts.iter().any(|part| arrays.contains(&part.column));
            index.index_type = if multi_valued { IndexType::MultiValued } else { IndexType::BTree };
        }
    }
    Ok(())
}

fn index_comment(text: Option<&str>, name: Option<&Ident>) -> SqlResult<String> {
    let text = text.unwrap_or_default();
    if text.chars().count() > 1024 {
        return Err(SqlError::new(ErrorCode::TooLongIndexComment, &[&name.map_or("", |name| name.as_str())]));
    }
    Ok(text.to_string())
}

fn checked_name(table: &TableDef, name: &Ident) -> SqlResult<String> {
    check_index_name(name)?;
    if table.index(name).is_some() {
        return Err(SqlError::new(ErrorCode::DuplicateKeyName, &[&name.as_str()]));
    }
    Ok(name.to_string())
}

/// The first column's name, or what stands for it where the first part is functional, with `_2`, `_3` … if that is taken.
fn default_name(table: &TableDef, parts: &[IndexPart]) -> String {
    let first = parts.first().and_then(|part| table.ordinal(part.column)).map(|at| &table.columns[at]);
    let first = first.map_or("key", |column| if column.is_hidden() { FUNCTIONAL_NAME } else { &column.name });
    free_name(table, first)
}

/// A name, with `_2`, `_3` … if it is taken.
fn free_name(table: &TableDef, first: &str) -> String {
    let taken = |name: &str| table.index(name).is_some() || eq_ignore_case(name, "PRIMARY");
    if !taken(first) {
        return first.to_string();
    }
    let mut number = 2u64;
    loop {
        let name = format!("{first}_{number}");
        if !taken(&name) {
            return name;
        }
        number += 1;
    }
}

/// Has a column of a primary key refuse NULL (1171 if that is its default).
pub fn require_not_null(column: &mut ColumnDef) -> SqlResult<()> {
    if column.nullable && column.default == squall_catalog::ColumnDefault::Literal(squall_types::Value::Null) {
        return Err(SqlError::new(ErrorCode::PrimaryCantHaveNull, &[]));
    }
    column.nullable = false;
    Ok(())
}

/// `place` is the key's name and the part's place in it.
fn resolve_part(
    table: &mut TableDef,
    part: &KeyPart,
    place: (&str, usize),
    definition: &IndexDefinition,
    context: &DdlContext<'_>,
) -> SqlResult<IndexPart> {
    let kind = definition.kind;
    let (name, length) = match &part.source {
        KeyPartSource::Column { name, length } => (name, *length),
        KeyPartSource::Expr(expr) => {
            let column = add_hidden_column(table, expr, place, kind, context)?;
            return Ok(IndexPart { column, prefix: None, descending: part.descending });
        }
    };
    let (_, column) =
        table.column(name).ok_or_else(|| SqlError::new(ErrorCode::KeyColumnDoesNotExist, &[&name.as_str()]))?;
    if matches!(column.sql_type, SqlType::Json) {
        return Err(SqlError::new(ErrorCode::JsonUsedAsKey, &[&column.name]));
    }
    if column.sql_type.is_vector() {
        return Err(SqlError::new(ErrorCode::NonScalarUsedAsKey, &[&column.name]));
    }
    if let Some(generated) = &column.generated
        && !generated.stored
        && kind == IndexKind::Primary
    {
        return Err(SqlError::new(
            ErrorCode::UnsupportedActionOnGeneratedColumn,
            &[&"Defining a virtual generated column as primary key"],
        ));
    }
    let prefix = prefix_length(column, length, definition, context)?;
    Ok(IndexPart { column: column.id, prefix, descending: part.descending })
}

/// The prefix that is kept: none when it covers the column; an error where a prefix is needed or makes no sense.
fn prefix_length(
    column: &ColumnDef,
    length: Option<u32>,
    definition: &IndexDefinition,
    context: &DdlContext<'_>,
) -> SqlResult<Option<u32>> {
    let SqlType::String { kind: string_kind, length: column_length, collation } = &column.sql_type else {
        return match length {
            None => Ok(None),
            Some(_) => Err(SqlError::new(ErrorCode::WrongSubKey, &[])),
        };
    };
    let is_text = matches!(string_kind, StringKind::Text(_) | StringKind::Geometry(_));
    if *column_length == 0 && !is_text {
        return Err(SqlError::new(ErrorCode::WrongKeyColumn, &[&column.name]));
    }
    let may_be_hashed = may_be_hashed(definition);
    let Some(length) = length else {
        let is_too_long = is_text && !(may_be_hashed && matches!(string_kind, StringKind::Text(_)));
        return match is_too_long {
            true => Err(SqlError::new(ErrorCode::BlobKeyWithoutLength, &[&column.name])),
            false => Ok(None),
        };
    };
    if length == 0 {
        return Err(SqlError::new(ErrorCode::KeyPartZeroLength, &[&column.name]));
    }
    let bytes = u64::from(length) * u64::from(collation.charset().bytes_per_character_max());
    if bytes > KEY_BYTES_MAX && !may_be_hashed {
        if context.sql_mode().is_strict() || definition.kind != IndexKind::Plain {
            return Err(too_long());
        }
        context.statement.diagnostics.warn(too_long());
        return Ok(Some((KEY_BYTES_MAX / u64::from(collation.charset().bytes_per_character_max())) as u32));
    }
    if !is_text && length > *column_length {
        return Err(SqlError::new(ErrorCode::WrongSubKey, &[]));
    }
    Ok((is_text || length < *column_length).then_some(length))
}

/// `hashed` says that they may be of any length.
fn check_parts(table: &TableDef, parts: &[IndexPart], hashed: bool) -> SqlResult<()> {
    if parts.len() > PARTS_MAX {
        return Err(SqlError::new(ErrorCode::TooManyKeyParts, &[&PARTS_MAX]));
    }
    let mut bytes = 0;
    for (at, part) in parts.iter().enumerate() {
        let Some(ordinal) = table.ordinal(part.column) else { continue };
        let column = &table.columns[ordinal];
        if parts[..at].iter().any(|other| other.column == part.column) {
            return Err(SqlError::new(ErrorCode::DuplicateFieldName, &[&column.name]));
        }
        let part_bytes = part_bytes(column, part.prefix);
        if part_bytes > KEY_BYTES_MAX && !hashed {
            return Err(too_long());
        }
        bytes += part_bytes;
    }
    if bytes > KEY_BYTES_MAX && !hashed { Err(too_long()) } else { Ok(()) }
}

/// Whether one of the parts is an array, which is one at most and has no order.
fn check_arrays(table: &TableDef, parts: &[IndexPart]) -> SqlResult<bool> {
    let is_array =
        |part: &&IndexPart| table.ordinal(part.column).is_some_and(|at| table.columns[at].element_type().is_some());
    let mut arrays = parts.iter().filter(is_array);
    let Some(array) = arrays.next() else { return Ok(false) };
    if arrays.next().is_some() {
        return Err(SqlError::unsupported("more than one multi-valued key part per index"));
    }
    if array.descending {
        return Err(SqlError::new(ErrorCode::WrongUsage, &[&"multi-valued index", &"explicit index order"]));
    }
    Ok(true)
}

/// What has to hold of AUTO_INCREMENT once all keys are known (1075).
pub fn check_auto_increment(table: &TableDef) -> SqlResult<()> {
    let mut counting = table.columns.iter().filter(|column| column.auto_increment);
    let Some(column) = counting.next() else { return Ok(()) };
    let is_first =
        |index: &IndexDef| !index.has_no_order() && index.parts.first().is_some_and(|part| part.column == column.id);
    if counting.next().is_some() || !table.indexes.iter().any(is_first) {
        return Err(SqlError::new(ErrorCode::WrongAutoKey, &[]));
    }
    Ok(())
}

/// Puts the keys in MySQL's order: the primary one, unique ones without NULL, other unique ones, the rest.
pub fn sort_indexes(table: &mut TableDef) {
    let nullable: Vec<bool> = table
        .indexes
        .iter()
        .map(|index| {
            index.parts.iter().any(|part| table.ordinal(part.column).is_some_and(|at| table.columns[at].nullable))
        })
        .collect();
    let rank = |(index, nullable): (&IndexDef, bool)| {
        [!index.primary, !index.unique, index.unique && nullable, index.is_fulltext(), index.has_no_entries()]
    };
    let mut keyed: Vec<([bool; 5], IndexDef)> = std::mem::take(&mut table.indexes)
        .into_iter()
        .zip(nullable)
        .map(|(index, nullable)| (rank((&index, nullable)), index))
        .collect();
    keyed.sort_by_key(|(rank, _)| *rank);
    table.indexes = keyed.into_iter().map(|(_, index)| index).collect();
}
