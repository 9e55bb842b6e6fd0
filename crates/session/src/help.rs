//! HELP.

use crate::result::{Outcome, ResultSet, text_column};
use crate::session::Session;
use squall_system_tables::help::{Category, Topic, topics};
use squall_types::collation::like_match;
use squall_types::{CollationId, Value};

/// Characters of names.
const NAME_LENGTH: u32 = 64;
/// As MySQL announces texts.
const TEXT_LENGTH: u32 = 1000;

/// A row that names something, and tells whether it is a category.
fn named(name: &str, is_category: bool) -> Vec<Value> {
    vec![Value::from(name), Value::from(if is_category { "Y" } else { "N" })]
}

impl Session {
    /// HELP: the one topic of that name; or the names of several, or of a category's topics.
    pub(crate) fn run_help(&self, wanted: &str) -> Outcome {
        let is_like = |name: &str| like_match(CollationId::UTF8MB3_GENERAL_CI, name, wanted, Some('\\'));
        let all = topics(&self.shared.registry);
        let mut found: Vec<&Topic> = all.iter().filter(|topic| is_like(&topic.name)).collect();
        if found.is_empty() {
            // By one of several words.
            found = all.iter().filter(|topic| topic.name.contains(' ') && topic.name.split(' ').any(is_like)).collect();
        }
        if let [topic] = found.as_slice() {
            return Outcome::Rows(description(topic));
        }
        let categories: Vec<Category> =
            Category::ALL.iter().copied().filter(|category| is_like(category.name())).collect();
        if let ([], [category]) = (found.as_slice(), categories.as_slice()) {
            return Outcome::Rows(contents(*category, &all));
        }
        let mut result = ResultSet::new(vec![text_column("name", NAME_LENGTH), text_column("is_it_category", 1)]);
        result.rows.extend(found.iter().map(|topic| named(&topic.name, false)));
        result.rows.extend(categories.iter().map(|category| named(category.name(), true)));
        Outcome::Rows(result)
    }
}

fn description(topic: &Topic) -> ResultSet {
    let mut result = ResultSet::new(vec![
        text_column("name", NAME_LENGTH),
        text_column("description", TEXT_LENGTH),
        text_column("example", TEXT_LENGTH),
    ]);
    result.rows.push([&topic.name, &topic.description, topic.example].map(Value::from).into());
    result
}

fn contents(category: Category, topics: &[Topic]) -> ResultSet {
    let mut result = ResultSet::new(vec![
        text_column("source_category_name", NAME_LENGTH),
        text_column("name", NAME_LENGTH),
        text_column("is_it_category", 1),
    ]);
    let below = Category::ALL.iter().filter(|below| below.parent() == Some(category));
    let names = topics.iter().filter(|topic| topic.category == category).map(|topic| named(&topic.name, false));
    for row in names.chain(below.map(|below| named(below.name(), true))) {
        result.rows.push(std::iter::once(Value::from(category.name())).chain(row).collect());
    }
    result
}
