//! squall-test-support
