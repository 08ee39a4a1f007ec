//! What the controller and the plugin see of the agent: its page, and the socket.

pub(crate) mod connection;
pub(crate) mod controller;
pub mod page;
