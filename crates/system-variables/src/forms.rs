//! Which texts variables take that must have a form: what [`VariableDef::of_form`](crate::VariableDef::of_form) is given.

use crate::definition::text_of;
use squall_types::Value;

/// How many operators `ft_boolean_syntax` has.
const BOOLEAN_OPERATORS: usize = 14;
/// The two operators around a phrase, which may be one.
const PHRASE_BEGIN: usize = 10;
const PHRASE_END: usize = 11;

/// `ft_boolean_syntax`: fourteen different signs of ASCII that are no letters and digits; one of the first two is a space, and the two around a phrase
/// may be one.
pub(crate) fn is_boolean_syntax(value: &Value) -> bool {
    let Some(text) = text_of(value) else { return false };
    let signs = text.as_bytes();
    let is_double = |at: usize| {
        let first = signs.iter().position(|sign| Some(sign) == signs.get(at));
        first.is_some_and(|first| first < at && (first, at) != (PHRASE_BEGIN, PHRASE_END))
    };
    signs.len() == BOOLEAN_OPERATORS
        && signs.iter().take(2).any(|sign| *sign == b' ')
        && signs.iter().all(|sign| sign.is_ascii() && !sign.is_ascii_alphanumeric())
        && !(0..signs.len()).any(is_double)
}

/// `log_error_services`: names of the services that there are, with `;` or `,` between them.
pub(crate) fn is_list_of_log_services(value: &Value) -> bool {
    let is_service = |name: &str| matches!(name.trim(), "" | "log_filter_internal" | "log_sink_internal");
    text_of(value).is_some_and(|list| list.split([';', ',']).all(is_service))
}

/// `log_error_suppression_list`: `ER_…` or numbers, with or without `MY-` before them.
pub(crate) fn is_list_of_messages(value: &Value) -> bool {
    let is_message = |item: &str| {
        let item = item.trim();
        let number = item.strip_prefix("MY-").unwrap_or(item);
        item.starts_with("ER_") || number.bytes().all(|byte| byte.is_ascii_digit())
    };
    text_of(value).is_some_and(|list| list.split(',').all(is_message))
}

/// NULL, nothing, or a folder that is there.
pub(crate) fn is_folder_or_none(value: &Value) -> bool {
    text_of(value).is_none_or(|path| path.is_empty() || std::path::Path::new(path).is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_those_of_mysql() {
        let is = |form: fn(&Value) -> bool, text: &str| form(&Value::String(text.to_owned()));
        for right in ["+ -><()~*:\"\"&|", " +-><()~*:\"\"&|", "+ -><()~*:{}&|"] {
            assert!(is(is_boolean_syntax, right), "{right}");
        }
        for wrong in [
            "",
            "x",
            "+-!><()~*:\"\"&|",
            "+ ->>()~*:\"\"&|",
            "+ -><()~*:\"\"&a",
            "+ -><()~*:\"\"&|?",
            "+ -><()~*:\"\"&ä",
        ] {
            assert!(!is(is_boolean_syntax, wrong), "{wrong}");
        }
        assert!(
            is(is_list_of_log_services, "log_filter_internal; log_sink_internal") && is(is_list_of_log_services, "")
        );
        assert!(!is(is_list_of_log_services, "log_sink_json"));
        assert!(is(is_list_of_messages, "") && is(is_list_of_messages, "ER_PARSER_TRACE, MY-010001,10002"));
        assert!(!is(is_list_of_messages, "nonsense"));
        assert!(
            is(is_folder_or_none, "/") && is_folder_or_none(&Value::Null) && !is(is_folder_or_none, "/no/such/folder")
        );
    }
}
