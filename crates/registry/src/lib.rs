//! squall-registry
