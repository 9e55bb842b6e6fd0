//! squall-catalog
