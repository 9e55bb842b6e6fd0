//! The values of `lc_messages` and `lc_time_names`.

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
