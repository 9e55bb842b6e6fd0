//! Statements about accounts and privileges.
//!
//! Reading order: [`user`], [`password`], [`definer`], [`grant`], [`restrict`], [`role`], [`show`]. The accounts themselves are
//! [`squall_server_state::accounts`].

mod definer;
mod grant;
mod password;
mod restrict;
mod role;
mod show;
mod user;
