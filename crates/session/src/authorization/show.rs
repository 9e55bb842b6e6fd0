//! The privileges that the forms of SHOW need.

use squall_catalog::{Need, Privileges};
use squall_parser::ast::Show;

/// A form of SHOW about the whole server needs a privilege. The others show what the session's grants let it see, and
/// look at them row by row; a new form says here which of both it is.
pub(super) fn needs_of_show(show: &Show) -> Option<Need> {
    match show {
        Show::BinaryLogs | Show::BinaryLogStatus | Show::ReplicaStatus { .. } => {
            let any = Privileges::SUPER.union(Privileges::REPLICATION_CLIENT);
            Some(Need::server(any, &[], "SUPER, REPLICATION CLIENT"))
        }
        Show::BinlogEvents { .. } | Show::RelaylogEvents { .. } | Show::Replicas => {
            Some(Need::server(Privileges::REPLICATION_SLAVE, &[], "REPLICATION SLAVE"))
        }
        Show::Engine { .. } => Some(Need::server(Privileges::PROCESS, &[], "PROCESS")),
        Show::ApiTokens(_)
        | Show::CharacterSets(_)
        | Show::Collations(_)
        | Show::Columns { .. }
        | Show::CreateDatabase { .. }
        | Show::CreateEvent(_)
        | Show::CreateFunction(_)
        | Show::CreateHttpEndpoint(_)
        | Show::CreateProcedure(_)
        | Show::CreateSequence(_)
        | Show::CreateTable(_)
        | Show::CreateTrigger(_)
        | Show::CreateUser(_)
        | Show::CreateView(_)
        | Show::Databases(_)
        | Show::Engines
        | Show::Errors(_)
        | Show::ErrorCount
        | Show::Events { .. }
        | Show::FunctionCode(_)
        | Show::FunctionStatus(_)
        | Show::Grants { .. }
        | Show::HttpEndpoints(_)
        | Show::Indexes { .. }
        | Show::OpenTables { .. }
        | Show::Plugins { .. }
        | Show::Privileges
        | Show::ProcedureCode(_)
        | Show::ProcedureStatus(_)
        | Show::ProcessList { .. }
        | Show::Profile { .. }
        | Show::Profiles
        | Show::Status { .. }
        | Show::TableStatus { .. }
        | Show::Tables { .. }
        | Show::Triggers { .. }
        | Show::Variables { .. }
        | Show::Warnings(_)
        | Show::WarningCount
        | Show::ParseTree(_)
        | Show::Authors
        | Show::Contributors
        | Show::Information { .. }
        | Show::ExplainFor(_) => None,
    }
}
