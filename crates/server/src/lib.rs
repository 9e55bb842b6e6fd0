//! squall-server
