//! The tables of `mysql` with the topics of HELP.

use super::{Category, topics};
use crate::source::Source;
use crate::spec::{TableSpec, long_text, s, small_uint, text, u};
use squall_registry::VirtualScan;
use squall_types::{SqlResult, Value};
use std::collections::BTreeMap;

const DATABASE: &str = "mysql";

pub(crate) const TABLES: &[TableSpec] = &[
    TableSpec {
        database: DATABASE,
        name: "help_category",
        columns: &[
            small_uint("help_category_id"),
            text("name", 64),
            small_uint("parent_category_id").or_null(),
            long_text("url"),
        ],
        rows: |_, _| {
            let row = |category: &Category| {
                let parent = category.parent().map_or(Value::Null, |parent| u(parent.number()));
                vec![u(category.number()), s(category.name()), parent, s("")]
            };
            Ok(Category::ALL.iter().map(row).collect())
        },
    },
    TableSpec {
        database: DATABASE,
        name: "help_topic",
        columns: &[
            small_uint("help_topic_id"),
            text("name", 64),
            small_uint("help_category_id"),
            long_text("description"),
            long_text("example"),
            long_text("url"),
        ],
        rows: |source, _| {
            let numbered = (0..).zip(topics(&source.state.registry));
            let row = |(id, topic): (u64, super::Topic)| {
                let category = u(topic.category.number());
                vec![u(id), s(topic.name), category, s(topic.description), s(topic.example), s("")]
            };
            Ok(numbered.map(row).collect())
        },
    },
    TableSpec {
        database: DATABASE,
        name: "help_keyword",
        columns: &[small_uint("help_keyword_id"), text("name", 64)],
        rows: |source, _| Ok((0..).zip(keywords(source).into_keys()).map(|(id, word)| vec![u(id), s(word)]).collect()),
    },
    TableSpec {
        database: DATABASE,
        name: "help_relation",
        columns: &[small_uint("help_topic_id"), small_uint("help_keyword_id")],
        rows: relations,
    },
];

/// Words of the names of topics that are more than one, with the topics' numbers.
fn keywords(source: &Source<'_>) -> BTreeMap<String, Vec<u64>> {
    let mut words: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for (id, topic) in (0..).zip(topics(&source.state.registry)) {
        for word in topic.name.split(' ').filter(|_| topic.name.contains(' ')) {
            words.entry(word.to_string()).or_default().push(id);
        }
    }
    words
}

fn relations(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let numbered = (0..).zip(keywords(source).into_values());
    Ok(numbered.flat_map(|(word, topics)| topics.into_iter().map(move |topic| vec![u(topic), u(word)])).collect())
}
