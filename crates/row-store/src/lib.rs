//! squall-row-store
