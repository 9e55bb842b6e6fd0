//! squall-functions
