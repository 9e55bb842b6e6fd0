//! Names of days and months by language, as `lc_time_names` chooses them. They are those of glibc's locales.

use pure_rust_locales::{Locale, locale_match};

/// MySQL's locales, by name.
pub const LOCALES: &[&str] = &[
    "ar_AE", "ar_BH", "ar_DZ", "ar_EG", "ar_IN", "ar_IQ", "ar_JO", "ar_KW", "ar_LB", "ar_LY", "ar_MA", "ar_OM",
    "ar_QA", "ar_SA", "ar_SD", "ar_SY", "ar_TN", "ar_YE", "be_BY", "bg_BG", "ca_ES", "cs_CZ", "da_DK", "de_AT",
    "de_BE", "de_CH", "de_DE", "de_LU", "el_GR", "en_AU", "en_CA", "en_GB", "en_IN", "en_NZ", "en_PH", "en_US",
    "en_ZA", "en_ZW", "es_AR", "es_BO", "es_CL", "es_CO", "es_CR", "es_DO", "es_EC", "es_ES", "es_GT", "es_HN",
    "es_MX", "es_NI", "es_PA", "es_PE", "es_PR", "es_PY", "es_SV", "es_US", "es_UY", "es_VE", "et_EE", "eu_ES",
    "fi_FI", "fo_FO", "fr_BE", "fr_CA", "fr_CH", "fr_FR", "fr_LU", "gl_ES", "gu_IN", "he_IL", "hi_IN", "hr_HR",
    "hu_HU", "id_ID", "is_IS", "it_CH", "it_IT", "ja_JP", "ko_KR", "lt_LT", "lv_LV", "mk_MK", "mn_MN", "ms_MY",
    "nb_NO", "nl_BE", "nl_NL", "no_NO", "pl_PL", "pt_BR", "pt_PT", "rm_CH", "ro_RO", "ru_RU", "ru_UA", "sk_SK",
    "sl_SI", "sq_AL", "sr_RS", "sv_FI", "sv_SE", "ta_IN", "te_IN", "th_TH", "tr_TR", "uk_UA", "ur_PK", "vi_VN",
    "zh_CN", "zh_HK", "zh_TW",
];

/// The names of one locale.
#[derive(Clone, Copy, Debug)]
pub struct CalendarNames {
    /// MySQL's name of the locale.
    locale: &'static str,
    /// January first.
    pub(super) months: &'static [&'static str],
    months_short: &'static [&'static str],
    /// Sunday first.
    pub(super) days: &'static [&'static str],
    days_short: &'static [&'static str],
}

impl PartialEq for CalendarNames {
    fn eq(&self, other: &Self) -> bool {
        self.locale == other.locale
    }
}

impl Eq for CalendarNames {}

impl CalendarNames {
    /// The names of `en_US`, which are the default, and those that `STR_TO_DATE()` reads in any locale.
    pub const ENGLISH: CalendarNames = {
        use pure_rust_locales::en_US::LC_TIME;
        CalendarNames {
            locale: "en_US",
            months: LC_TIME::MON,
            months_short: LC_TIME::ABMON,
            days: LC_TIME::DAY,
            days_short: LC_TIME::ABDAY,
        }
    };

    /// The names of one of [`LOCALES`]; `None` for what is none, and for `rm_CH`, whose names are not known.
    pub fn of(locale: &str) -> Option<CalendarNames> {
        let locale = LOCALES.iter().find(|known| **known == locale)?;
        // Its names are those of Bokmål.
        let known = if *locale == "no_NO" { "nb_NO" } else { locale };
        let found = Locale::try_from(known).ok()?;
        let names = CalendarNames {
            locale,
            months: locale_match!(found => LC_TIME::MON),
            months_short: locale_match!(found => LC_TIME::ABMON),
            days: locale_match!(found => LC_TIME::DAY),
            days_short: locale_match!(found => LC_TIME::ABDAY),
        };
        let is_whole = names.months.len() == 12
            && names.months_short.len() == 12
            && names.days.len() == 7
            && names.days_short.len() == 7;
        is_whole.then_some(names)
    }

    /// A month's name, 1 for January; `None` for a month 0.
    pub fn month(&self, month: u8) -> Option<&'static str> {
        self.months.get(usize::from(month).checked_sub(1)?).copied()
    }

    /// A month's short name, 1 for January; `None` for a month 0.
    pub fn month_short(&self, month: u8) -> Option<&'static str> {
        self.months_short.get(usize::from(month).checked_sub(1)?).copied()
    }

    /// A day's name, 0 for Monday.
    pub fn day(&self, weekday: u8) -> Option<&'static str> {
        self.days.get((usize::from(weekday) + 1) % 7).copied()
    }

    /// A day's short name, 0 for Monday.
    pub fn day_short(&self, weekday: u8) -> Option<&'static str> {
        self.days_short.get((usize::from(weekday) + 1) % 7).copied()
    }

    /// Characters of the longest name.
    pub fn length_max(&self) -> u32 {
        let all = [self.months, self.months_short, self.days, self.days_short];
        let length = all.into_iter().flatten().map(|name| name.chars().count()).max().unwrap_or(0);
        u32::try_from(length).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::{CalendarNames, LOCALES};

    #[test]
    fn names_by_locale() {
        let german = CalendarNames::of("de_DE").unwrap();
        assert_eq!((german.month(3), german.month_short(3), german.month(0)), (Some("März"), Some("Mär"), None));
        assert_eq!((german.day(0), german.day_short(6)), (Some("Montag"), Some("So")));
        assert_eq!(CalendarNames::of("no_NO").unwrap().month(1), CalendarNames::of("nb_NO").unwrap().month(1));
        assert_ne!(CalendarNames::of("no_NO"), CalendarNames::of("nb_NO"));
        assert!(CalendarNames::of("xx_XX").is_none());
        let unknown: Vec<&str> = LOCALES.iter().copied().filter(|name| CalendarNames::of(name).is_none()).collect();
        assert_eq!(unknown, ["rm_CH"]);
        assert_eq!(CalendarNames::ENGLISH.length_max(), 9);
    }
}
