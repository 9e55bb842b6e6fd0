//! squall-planner
