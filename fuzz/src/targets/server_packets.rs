//! All packets of a server, decoded as by a client.

use crate::input::Input;
use squall_wire::binary_row::decode_binary_row;
use squall_wire::column::ColumnDefinition;
use squall_wire::constants::{Capabilities, ColumnType};
use squall_wire::handshake::{AuthSwitch, Greeting};
use squall_wire::response::{EofPacket, ErrPacket, OkPacket, PrepareOk};
use squall_wire::session_track::SessionChange;
use squall_wire::text_row::decode_text_row;

pub fn run(input: &[u8]) {
    let mut input = Input::new(input);
    let capabilities = Capabilities(input.u32());
    let column_count = input.u16();
    let types = input.bytes();
    let bytes = input.rest();
    let _ = Greeting::decode(bytes);
    let _ = AuthSwitch::decode(bytes);
    let _ = ColumnDefinition::decode(bytes);
    let _ = EofPacket::decode(bytes);
    let _ = ErrPacket::decode(bytes);
    let _ = PrepareOk::decode(bytes);
    if let Ok(ok) = OkPacket::decode(bytes, capabilities) {
        let _ = SessionChange::decode_all(ok.session_changes);
    }
    let _ = decode_text_row(bytes, usize::from(column_count));
    let types: Vec<_> =
        types.iter().filter_map(|code| ColumnType::from_code(*code)).map(|it| (it, it.code() % 2 == 0)).collect();
    let _ = decode_binary_row(bytes, &types);
}
