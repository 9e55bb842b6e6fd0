//! Full-text search.

use super::definition::{
    Scope::{Both, Global},
    VariableDef, boolean, nullable, text, unsigned,
};

use crate::forms::is_boolean_syntax;

/// What the server has instead of own lists.
const STOP_WORDS: &str = "InnoDB's own list (information_schema.INNODB_FT_DEFAULT_STOPWORD), which all keys leave out";

pub(super) const VARIABLES: &[VariableDef] = &[
    unsigned("ft_min_word_len", Global, 4, 1, 84, "Shortest word of MyISAM full-text indexes.").read_only(),
    unsigned("ft_max_word_len", Global, 84, 10, 84, "Longest word of them.").read_only(),
    unsigned("ft_query_expansion_limit", Global, 20, 0, 1000, "Matches used for query expansion.").read_only(),
    text("ft_boolean_syntax", Global, "+ -><()~*:\"\"&|", "Operators of boolean full-text search.")
        .of_form(is_boolean_syntax)
        .compatibility(),
    text("ft_stopword_file", Global, "(built-in)", "List of stop words.").read_only(),
    unsigned("innodb_ft_min_token_size", Global, 3, 0, 16, "Shortest word of full-text indexes.").read_only(),
    unsigned("innodb_ft_max_token_size", Global, 84, 10, 84, "Longest word of full-text indexes.").read_only(),
    boolean("innodb_ft_enable_stopword", Both, true, "Whether stop words are left out.").only_default(STOP_WORDS),
    nullable("innodb_ft_server_stopword_table", Global, "Table of stop words.").only_default(STOP_WORDS),
    nullable("innodb_ft_user_stopword_table", Both, "Table of stop words of this session.").only_default(STOP_WORDS),
    unsigned("ngram_token_size", Global, 2, 2, 2, "Characters of the pieces of full-text indexes WITH PARSER ngram.")
        .read_only(),
];
