//! The modules of a Squall server. Each brings functions, procedures, tables, variables or background work through
//! [`squall_session::Module`], and no other part of the server knows it by name.

pub mod async_queries;
mod captured;
mod execute;
mod fastbit;
mod history;
mod http_api;
mod http_client;
mod javascript;
mod json_tools;
mod number_tables;
mod sys;
mod views;

use squall_session::Module;
use std::sync::Arc;

/// All modules, in the order in which they start.
pub fn all() -> Vec<Arc<dyn Module>> {
    vec![
        Arc::new(async_queries::AsyncQueries::default()),
        Arc::new(fastbit::FastBit),
        Arc::new(javascript::JavaScript::default()),
        Arc::new(json_tools::JsonTools),
        Arc::new(number_tables::NumberTables),
        Arc::new(sys::Sys::default()),
        Arc::new(execute::ExecuteModule::default()),
        Arc::new(history::HistoryModule::default()),
        Arc::new(http_client::HttpClient::default()),
        Arc::new(http_api::HttpApi::default()),
    ]
}
