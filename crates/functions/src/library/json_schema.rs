//! JSON_SCHEMA_VALID and JSON_SCHEMA_VALIDATION_REPORT: draft 4 of JSON Schema.

use super::support::{Args, Def, result};
use crate::operators::regexp::compile_once;
use squall_types::json::{Json, Object};
use squall_types::{ErrorCode, SqlError, SqlResult, Value};

/// The family.
pub const FUNCTIONS: &[Def] = &[
    Def::new("JSON_SCHEMA_VALID", (2, 2), result::nullable_boolean, |args| Ok(Value::from(validate(args)?.is_none()))),
    Def::new("JSON_SCHEMA_VALIDATION_REPORT", (2, 2), result::json, |args| {
        let Some(failure) = validate(args)? else {
            return Ok(Json::Object(Object::from_iter([("valid".to_string(), Json::Bool(true))])).to_value());
        };
        let Failure { document, schema, keyword } = failure;
        let reason = format!(
            "The JSON document location '{document}' failed requirement '{keyword}' at JSON Schema location '{schema}'"
        );
        let text = |name: &str, value: String| (name.to_string(), Json::String(value));
        Ok(Json::Object(Object::from_iter([
            ("valid".to_string(), Json::Bool(false)),
            text("reason", reason),
            text("schema-location", schema),
            text("document-location", document),
            text("schema-failed-keyword", keyword.to_string()),
        ]))
        .to_value())
    }),
];

/// Schemas inside of schemas, references followed: a document is never deeper, so more is a circle.
const DEPTH_MAX: usize = 256;

/// Which requirement a document does not meet.
#[derive(Debug)]
struct Failure {
    /// Where in the document, as a URI fragment.
    document: String,
    /// Where in the schema.
    schema: String,
    keyword: &'static str,
}

fn validate(args: &Args<'_>) -> SqlResult<Option<Failure>> {
    let schema = args.document(0)?;
    if !matches!(schema, Json::Object(_)) {
        return Err(SqlError::new(ErrorCode::InvalidJsonType, &[&1, &args.name.to_lowercase(), &"object"]));
    }
    let document = args.document(1)?;
    let validator = Validator { root: &schema };
    let place = Place { schema: "#".to_string(), document: "#".to_string(), depth: 0 };
    validator.check(&schema, &document, &place)
}

/// Where the validation is.
struct Place {
    schema: String,
    document: String,
    depth: usize,
}

impl Place {
    fn fail(&self, keyword: &'static str) -> Option<Failure> {
        Some(Failure { document: self.document.clone(), schema: self.schema.clone(), keyword })
    }

    fn at_schema(&self, step: &str) -> Place {
        let schema = format!("{}/{step}", self.schema);
        Place { schema, document: self.document.clone(), depth: self.depth + 1 }
    }

    fn at(&self, schema_step: &str, document_step: &str) -> Place {
        let document = format!("{}/{document_step}", self.document);
        Place { document, ..self.at_schema(schema_step) }
    }
}

struct Validator<'a> {
    root: &'a Json,
}

type Checked = SqlResult<Option<Failure>>;

impl<'a> Validator<'a> {
    fn check(&self, schema: &'a Json, value: &Json, place: &Place) -> Checked {
        if place.depth > DEPTH_MAX {
            return Err(SqlError::new(ErrorCode::JsonDocumentTooDeep, &[]));
        }
        let Json::Object(rules) = schema else { return Ok(None) };
        if let Some(Json::String(reference)) = rules.get("$ref") {
            let target = self.resolve(reference)?;
            let place = Place { schema: reference.clone(), document: place.document.clone(), depth: place.depth + 1 };
            return match target {
                Some(target) => self.check(target, value, &place),
                None => Ok(None),
            };
        }
        if let Some(types) = rules.get("type")
            && !has_type(types, value)
        {
            return Ok(place.fail("type"));
        }
        if let Some(Json::Array(allowed)) = rules.get("enum")
            && !allowed.iter().any(|one| one.compare(value).is_eq())
        {
            return Ok(place.fail("enum"));
        }
        let failure = match value {
            Json::Int(_) | Json::UInt(_) | Json::Double(_) | Json::Decimal(_) => check_number(rules, value, place),
            Json::String(_) | Json::Date(_) | Json::Time(_) | Json::DateTime(_) | Json::Opaque(..) => {
                check_string(rules, &value.unquoted(), place)?
            }
            Json::Array(elements) => self.check_array(rules, elements, place)?,
            Json::Object(object) => self.check_object(rules, object, place)?,
            Json::Null | Json::Bool(_) => None,
        };
        if failure.is_some() {
            return Ok(failure);
        }
        self.check_combined(rules, value, place)
    }

    /// A reference within the schema: `#`, `#/definitions/name`.
    fn resolve(&self, reference: &str) -> SqlResult<Option<&'a Json>> {
        let Some(fragment) = reference.strip_prefix('#') else {
            return Err(SqlError::unsupported("references to external resources in JSON Schema"));
        };
        let mut found = self.root;
        for step in fragment.split('/').skip(1) {
            let name = step.replace("~1", "/").replace("~0", "~");
            let next = match found {
                Json::Object(object) => object.get(&name),
                Json::Array(elements) => name.parse::<usize>().ok().and_then(|at| elements.get(at)),
                _ => None,
            };
            match next {
                Some(next) => found = next,
                None => return Ok(None),
            }
        }
        Ok(Some(found))
    }

    fn check_combined(&self, rules: &'a Object, value: &Json, place: &Place) -> Checked {
        let meets = |schemas: &'a [Json], keyword: &str| -> SqlResult<usize> {
            let mut count = 0;
            for (at, schema) in schemas.iter().enumerate() {
                count +=
                    usize::from(self.check(schema, value, &place.at_schema(&format!("{keyword}/{at}")))?.is_none());
            }
            Ok(count)
        };
        if let Some(Json::Array(schemas)) = rules.get("allOf")
            && meets(schemas, "allOf")? < schemas.len()
        {
            return Ok(place.fail("allOf"));
        }
        if let Some(Json::Array(schemas)) = rules.get("anyOf")
            && meets(schemas, "anyOf")? == 0
        {
            return Ok(place.fail("anyOf"));
        }
        if let Some(Json::Array(schemas)) = rules.get("oneOf")
            && meets(schemas, "oneOf")? != 1
        {
            return Ok(place.fail("oneOf"));
        }
        if let Some(schema) = rules.get("not")
            && self.check(schema, value, &place.at_schema("not"))?.is_none()
        {
            return Ok(place.fail("not"));
        }
        Ok(None)
    }

    fn check_array(&self, rules: &'a Object, elements: &[Json], place: &Place) -> Checked {
        for (at, element) in elements.iter().enumerate() {
            let (schema, step) = match rules.get("items") {
                Some(Json::Array(schemas)) => match (schemas.get(at), rules.get("additionalItems")) {
                    (Some(schema), _) => (schema, format!("items/{at}")),
                    (None, Some(Json::Bool(false))) => return Ok(place.fail("additionalItems")),
                    (None, Some(schema @ Json::Object(_))) => (schema, "additionalItems".to_string()),
                    (None, _) => continue,
                },
                Some(schema) => (schema, "items".to_string()),
                None => break,
            };
            let failure = self.check(schema, element, &place.at(&step, &at.to_string()))?;
            if failure.is_some() {
                return Ok(failure);
            }
        }
        if below(rules, "minItems", elements.len()) {
            return Ok(place.fail("minItems"));
        }
        if above(rules, "maxItems", elements.len()) {
            return Ok(place.fail("maxItems"));
        }
        if rules.get("uniqueItems") == Some(&Json::Bool(true)) {
            let mut ordered: Vec<&Json> = elements.iter().collect();
            ordered.sort_by(|left, right| left.compare(right));
            if ordered.windows(2).any(|pair| matches!(pair, [left, right] if left.compare(right).is_eq())) {
                return Ok(place.fail("uniqueItems"));
            }
        }
        Ok(None)
    }

    fn check_object(&self, rules: &'a Object, object: &Object, place: &Place) -> Checked {
        let properties = object_rule(rules, "properties");
        let patterns = object_rule(rules, "patternProperties");
        for (name, value) in object.iter() {
            let mut known = false;
            if let Some(schema) = properties.and_then(|properties| properties.get(name)) {
                known = true;
                let failure = self.check(schema, value, &place.at(&format!("properties/{name}"), name))?;
                if failure.is_some() {
                    return Ok(failure);
                }
            }
            for (pattern, schema) in patterns.iter().flat_map(|patterns| patterns.iter()) {
                if !compile_once(pattern, "", true)?.is_match(name) {
                    continue;
                }
                known = true;
                let failure = self.check(schema, value, &place.at(&format!("patternProperties/{pattern}"), name))?;
                if failure.is_some() {
                    return Ok(failure);
                }
            }
            if known {
                continue;
            }
            match rules.get("additionalProperties") {
                Some(Json::Bool(false)) => return Ok(place.fail("additionalProperties")),
                Some(schema @ Json::Object(_)) => {
                    let failure = self.check(schema, value, &place.at("additionalProperties", name))?;
                    if failure.is_some() {
                        return Ok(failure);
                    }
                }
                _ => {}
            }
        }
        if let Some(Json::Array(required)) = rules.get("required")
            && !required.iter().all(|name| has_member(object, name))
        {
            return Ok(place.fail("required"));
        }
        if below(rules, "minProperties", object.len()) {
            return Ok(place.fail("minProperties"));
        }
        if above(rules, "maxProperties", object.len()) {
            return Ok(place.fail("maxProperties"));
        }
        for (name, dependency) in object_rule(rules, "dependencies").into_iter().flat_map(Object::iter) {
            if object.get(name).is_none() {
                continue;
            }
            let met = match dependency {
                Json::Array(names) => names.iter().all(|name| has_member(object, name)),
                schema => {
                    let value = Json::Object(object.clone());
                    self.check(schema, &value, &place.at_schema(&format!("dependencies/{name}")))?.is_none()
                }
            };
            if !met {
                return Ok(place.fail("dependencies"));
            }
        }
        Ok(None)
    }
}

fn object_rule<'a>(rules: &'a Object, name: &str) -> Option<&'a Object> {
    match rules.get(name) {
        Some(Json::Object(object)) => Some(object),
        _ => None,
    }
}

fn has_member(object: &Object, name: &Json) -> bool {
    match name {
        Json::String(name) => object.get(name).is_some(),
        _ => true,
    }
}

fn has_type(types: &Json, value: &Json) -> bool {
    match types {
        Json::String(name) => is_of_type(name, value),
        Json::Array(names) => names.iter().any(|name| has_type(name, value)),
        _ => true,
    }
}

fn is_of_type(name: &str, value: &Json) -> bool {
    match name {
        "null" => matches!(value, Json::Null),
        "boolean" => matches!(value, Json::Bool(_)),
        "integer" => matches!(value, Json::Int(_) | Json::UInt(_)),
        "number" => matches!(value, Json::Int(_) | Json::UInt(_) | Json::Double(_) | Json::Decimal(_)),
        "string" => value.characters().is_some(),
        "array" => matches!(value, Json::Array(_)),
        "object" => matches!(value, Json::Object(_)),
        _ => true,
    }
}

/// A count that a rule gives.
fn limit(rules: &Object, name: &str) -> Option<u64> {
    match rules.get(name) {
        Some(Json::Int(number)) => u64::try_from(*number).ok(),
        Some(Json::UInt(number)) => Some(*number),
        _ => None,
    }
}

fn below(rules: &Object, name: &str, count: usize) -> bool {
    limit(rules, name).is_some_and(|limit| (count as u64) < limit)
}

fn above(rules: &Object, name: &str, count: usize) -> bool {
    limit(rules, name).is_some_and(|limit| count as u64 > limit)
}

fn check_number(rules: &Object, value: &Json, place: &Place) -> Option<Failure> {
    let exclusive = |name: &str| rules.get(name) == Some(&Json::Bool(true));
    if let Some(minimum) = rules.get("minimum").filter(|limit| is_of_type("number", limit)) {
        let order = value.compare(minimum);
        if order.is_lt() || (order.is_eq() && exclusive("exclusiveMinimum")) {
            return place.fail(if order.is_eq() { "exclusiveMinimum" } else { "minimum" });
        }
    }
    if let Some(maximum) = rules.get("maximum").filter(|limit| is_of_type("number", limit)) {
        let order = value.compare(maximum);
        if order.is_gt() || (order.is_eq() && exclusive("exclusiveMaximum")) {
            return place.fail(if order.is_eq() { "exclusiveMaximum" } else { "maximum" });
        }
    }
    if let (Some(step), Some(number)) = (rules.get("multipleOf").and_then(number_of), number_of(value))
        && step > 0.0
    {
        let quotient = number / step;
        if (quotient - quotient.round()).abs() > 1e-9 {
            return place.fail("multipleOf");
        }
    }
    None
}

fn number_of(value: &Json) -> Option<f64> {
    match value {
        Json::Int(number) => Some(*number as f64),
        Json::UInt(number) => Some(*number as f64),
        Json::Double(number) => Some(*number),
        Json::Decimal(number) => Some(number.to_f64()),
        _ => None,
    }
}

fn check_string(rules: &Object, text: &str, place: &Place) -> Checked {
    if rules.get("minLength").is_some() || rules.get("maxLength").is_some() {
        let length = text.chars().count();
        if below(rules, "minLength", length) {
            return Ok(place.fail("minLength"));
        }
        if above(rules, "maxLength", length) {
            return Ok(place.fail("maxLength"));
        }
    }
    if let Some(Json::String(pattern)) = rules.get("pattern")
        && !pattern.is_empty()
        && !compile_once(pattern, "", true)?.is_match(text)
    {
        return Ok(place.fail("pattern"));
    }
    Ok(None)
}
