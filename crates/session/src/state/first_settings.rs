//! What sessions begin with: variables and settings, made once for all that begin alike.

use crate::state::settings::Settings;
use parking_lot::Mutex;
use squall_server_state::variables::ids;
use squall_system_variables::{ValueTable, VariableValues};
use squall_types::{CollationId, Value};
use std::sync::Arc;

/// Most ways to begin that are kept; then it begins again. A client chooses a collation.
const KEPT_MAX: usize = 64;

/// The variables of a session that begins, and the settings that follow from them.
#[derive(Clone, Debug)]
pub(crate) struct FirstSettings {
    pub variables: VariableValues,
    /// Without a default database.
    pub settings: Settings,
}

impl FirstSettings {
    /// Those of a client with the collation of its handshake, which may have asked for CLIENT_IGNORE_SPACE.
    fn new(global: ValueTable, collation: u16, ignore_space: bool) -> FirstSettings {
        let mut session = global.clone();
        let known = CollationId::from_number(u64::from(collation)).filter(|id| *id != CollationId::BINARY);
        if let Some(known) = known {
            let charset = known.charset().name();
            for id in [ids::CHARACTER_SET_CLIENT, ids::CHARACTER_SET_CONNECTION, ids::CHARACTER_SET_RESULTS] {
                session.set(id, Value::from(charset));
            }
            session.set(ids::COLLATION_CONNECTION, Value::from(known.name()));
        }
        let variables = VariableValues { session, global, warning_count: 0, error_count: 0 };
        let settings = Settings::decode(&variables, None, ignore_space);
        FirstSettings { variables, settings }
    }

    /// A copy for a session. It counts references to settings of its own, not to those of others.
    fn own(&self) -> FirstSettings {
        let bind = Arc::new((*self.settings.bind).clone());
        FirstSettings { variables: self.variables.clone(), settings: Settings { bind, ..self.settings.clone() } }
    }
}

/// Known ways to begin, by collation and CLIENT_IGNORE_SPACE. Those of other global values than the last ones are not kept.
#[derive(Debug, Default)]
pub(crate) struct FirstSettingsCache(Mutex<Vec<(u16, bool, Arc<FirstSettings>)>>);

impl FirstSettingsCache {
    /// What a session begins with while the global variables have these values.
    pub fn of(&self, global: ValueTable, collation: u16, ignore_space: bool) -> FirstSettings {
        let known = {
            let mut kept = self.0.lock();
            kept.retain(|(.., first)| first.variables.global.is_same(&global));
            let is_it = |entry: &&(u16, bool, Arc<FirstSettings>)| (entry.0, entry.1) == (collation, ignore_space);
            kept.iter().find(is_it).map(|(.., first)| first.clone())
        };
        let first = known.unwrap_or_else(|| {
            let first = Arc::new(FirstSettings::new(global, collation, ignore_space));
            let mut kept = self.0.lock();
            if kept.len() >= KEPT_MAX {
                kept.clear();
            }
            kept.push((collation, ignore_space, first.clone()));
            first
        });
        first.own()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use squall_types::collation::Charset;

    /// `latin1_swedish_ci`, and MySQL's default.
    const COLLATIONS: [u16; 2] = [8, 255];

    #[test]
    fn settings_follow_the_global_values_and_the_handshake() {
        let (cache, mut global) = (FirstSettingsCache::default(), VariableValues::default().global);
        let charset_of = |first: &FirstSettings| first.settings.bind.client_collation.charset();
        for _ in 0..2 {
            let [latin, utf] = COLLATIONS.map(|collation| cache.of(global.clone(), collation, false));
            assert_eq!(charset_of(&latin), Charset::from_name("latin1").expect("a character set"));
            assert_eq!(charset_of(&utf), Charset::from_name("utf8mb4").expect("a character set"));
            assert!(!utf.settings.bind.ignore_space && cache.of(global.clone(), 255, true).settings.bind.ignore_space);
            assert_eq!(latin.settings, FirstSettings::new(global.clone(), 8, false).settings);
        }
        assert_eq!(cache.0.lock().len(), 3);
        assert_eq!(cache.of(global.clone(), 255, false).settings.net_timeouts.read_seconds, 30);
        global.set(ids::NET_READ_TIMEOUT, Value::UInt(7));
        assert_eq!(cache.of(global.clone(), 255, false).settings.net_timeouts.read_seconds, 7);
        assert_eq!(cache.0.lock().len(), 1);
    }

    #[test]
    fn sessions_change_only_their_own() {
        let (cache, global) = (FirstSettingsCache::default(), VariableValues::default().global);
        let mut one = cache.of(global.clone(), 255, false);
        one.variables.session.set(ids::NET_READ_TIMEOUT, Value::UInt(7));
        Arc::make_mut(&mut one.settings.bind).database = Some("d".into());
        let other = cache.of(global, 255, false);
        assert!(!Arc::ptr_eq(&one.settings.bind, &other.settings.bind));
        assert_eq!(other.settings.bind.database, None);
        assert_eq!(*other.variables.session.get(ids::NET_READ_TIMEOUT), Value::UInt(30));
    }

    #[test]
    fn they_are_bounded() {
        let (cache, global) = (FirstSettingsCache::default(), VariableValues::default().global);
        (0..300).for_each(|collation| drop(cache.of(global.clone(), collation, false)));
        assert!(cache.0.lock().len() <= KEPT_MAX);
    }
}
