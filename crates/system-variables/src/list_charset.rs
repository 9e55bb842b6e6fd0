//! Character sets, collations, languages and time zones.

use super::definition::{
    Kind,
    Scope::{Both, Global},
    VariableDef, choice, special, text, unsigned,
};

const CHARSET: Kind = Kind::Charset { nullable: false };

pub(super) const VARIABLES: &[VariableDef] = &[
    special("character_set_client", Both, CHARSET, "utf8mb4", "Character set of statements."),
    special("character_set_connection", Both, CHARSET, "utf8mb4", "Character set of literals."),
    special(
        "character_set_results",
        Both,
        Kind::Charset { nullable: true },
        "utf8mb4",
        "Character set of results; NULL is no conversion.",
    ),
    special("character_set_database", Both, CHARSET, "utf8mb4", "Character set of the default database."),
    special("character_set_server", Both, CHARSET, "utf8mb4", "Character set of new databases."),
    special("character_set_filesystem", Both, CHARSET, "binary", "Character set of file names.").compatibility(),
    special("collation_connection", Both, Kind::Collation, "utf8mb4_0900_ai_ci", "Collation of literals."),
    special("collation_database", Both, Kind::Collation, "utf8mb4_0900_ai_ci", "Collation of the default database."),
    special("collation_server", Both, Kind::Collation, "utf8mb4_0900_ai_ci", "Collation of new databases."),
    special(
        "default_collation_for_utf8mb4",
        Both,
        Kind::Collation,
        "utf8mb4_0900_ai_ci",
        "Collation of utf8mb4 where none is named.",
    )
    .restricted()
    .only_default("COLLATE, or the collation of a database"),
    special("time_zone", Both, Kind::TimeZone, "SYSTEM", "Zone of the session: an offset, a name, or SYSTEM."),
    special("lc_time_names", Both, Kind::Locale, "en_US", "Language of names of days and months."),
    special("lc_messages", Both, Kind::Locale, "en_US", "Language of messages; there is English.").compatibility(),
    unsigned("default_week_format", Both, 0, 0, 7, "Mode of WEEK() without a mode."),
    choice("character_set_collations", Both, "", &[""], "Collations by character set, as MariaDB has them.")
        .read_only()
        .hidden(),
    text("date_format", Global, "%Y-%m-%d", "Format of dates; fixed.").read_only().hidden(),
    text("datetime_format", Global, "%Y-%m-%d %H:%i:%s", "Format of dates with times; fixed.").read_only().hidden(),
    text("time_format", Global, "%H:%i:%s", "Format of times; fixed.").read_only().hidden(),
];
