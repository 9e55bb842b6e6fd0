//! All packets of a client: framing, the handshake response, commands and their parameters.

use crate::input::Input;
use squall_wire::command::Command;
use squall_wire::constants::{Capabilities, ColumnType};
use squall_wire::framing::PacketReader;
use squall_wire::handshake::ClientHello;
use squall_wire::parameters::{ParameterType, StatementParameters};

struct Statement(u8);

impl StatementParameters for Statement {
    fn count(&self) -> usize {
        usize::from(self.0)
    }

    fn declared(&self, ordinal: usize) -> Option<ParameterType> {
        ColumnType::from_code(ordinal as u8).map(|column_type| ParameterType { column_type, unsigned: false })
    }

    fn has_long_data(&self, ordinal: usize) -> bool {
        ordinal % 3 == 2
    }
}

pub fn run(input: &[u8]) {
    let mut input = Input::new(input);
    let capabilities = Capabilities(input.u32());
    let parameter_count = input.byte();
    let bytes = input.rest();
    if let Ok(ClientHello::Response(response)) = ClientHello::decode(bytes, capabilities) {
        response.attributes.iter().count();
    }
    if let Ok(Command::StmtExecute(execute)) = Command::decode(bytes, capabilities) {
        let _ = execute.parameters.decode(&Statement(parameter_count));
    }
    let mut reader = PacketReader::new(1 << 20);
    reader.buffer().extend_from_slice(bytes);
    while let Ok(Some(packet)) = reader.next_packet() {
        let _ = Command::decode(&packet, capabilities);
    }
}
