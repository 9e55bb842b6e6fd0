//! squall-parser
