//! Definition statements as a session runs them; what they do is [`squall_definitions`].

pub(crate) mod create_select;
mod run;
