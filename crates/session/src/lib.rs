//! squall-session
