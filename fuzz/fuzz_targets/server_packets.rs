//! Everything a server can send, as a client decodes it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use squall_wire::binary_row::decode_binary_row;
use squall_wire::column::ColumnDefinition;
use squall_wire::constants::{Capabilities, ColumnType};
use squall_wire::handshake::{AuthSwitch, Greeting};
use squall_wire::response::{EofPacket, ErrPacket, OkPacket, PrepareOk};
use squall_wire::session_track::SessionChange;
use squall_wire::text_row::decode_text_row;

fuzz_target!(|input: (u32, u16, Vec<u8>, Vec<u8>)| {
    let (capabilities, column_count, types, bytes) = input;
    let capabilities = Capabilities(capabilities);
    let _ = Greeting::decode(&bytes);
    let _ = AuthSwitch::decode(&bytes);
    let _ = ColumnDefinition::decode(&bytes);
    let _ = EofPacket::decode(&bytes);
    let _ = ErrPacket::decode(&bytes);
    let _ = PrepareOk::decode(&bytes);
    if let Ok(ok) = OkPacket::decode(&bytes, capabilities) {
        let _ = SessionChange::decode_all(ok.session_changes);
    }
    let _ = decode_text_row(&bytes, usize::from(column_count));
    let types: Vec<_> = types.into_iter().filter_map(ColumnType::from_code).map(|it| (it, it.code() % 2 == 0)).collect();
    let _ = decode_binary_row(&bytes, &types);
});
