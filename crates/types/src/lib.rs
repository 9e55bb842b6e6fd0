//! squall-types
