"""Lists of keys: GROUP_CONCAT through a client, beside the projection of the same keys, MariaDB and DuckDB."""
import math, time
import duckdb
from connections import QUERY, Client, packet

# A packet that ends rows: header, 0xFE, affected rows, last id, status, warnings.
END_BYTES = 11
KEYS = "p_mfgr IN ('MFGR#1', 'MFGR#2')"


class ListClient(Client):
    """A client that takes an answer off the socket without looking at each row, so that it does not count for much."""

    def answer(self, sql):
        """Everything that comes back for a query of digits and commas, to its end-of-rows packet."""
        self.socket.sendall(packet(QUERY + sql.encode()))
        pieces, tail = [], b""
        while True:
            piece = self.socket.recv(1 << 20)
            if not piece:
                raise ConnectionError("closed by the server")
            pieces.append(piece)
            if len(pieces) == 1 and piece[4:5] == b"\xff":
                raise RuntimeError(piece[13:].decode(errors="replace"))
            tail = (tail + piece)[-END_BYTES:]
            if tail[:3] == b"\7\0\0" and tail[4:5] == b"\xfe":
                return b"".join(pieces)

    def run_list(self, sql):
        """The one value of a query of one row."""
        answer = self.answer(sql)
        # The row stands behind the number of columns and the column; text of over 16 MiB would come in several packets.
        at = 0
        for _ in range(2):
            at += 4 + int.from_bytes(answer[at:at + 3], "little")
        length = answer[at + 4]
        head = {0xFC: 3, 0xFD: 4, 0xFE: 9}.get(length, 1)
        return answer[at + 4 + head:-END_BYTES]


def best_of(rounds, action):
    best = math.inf
    for _ in range(rounds):
        started = time.perf_counter()
        result = action()
        best = min(best, time.perf_counter() - started)
    return best * 1e3, result


def of_server(server, table, rounds):
    """Milliseconds of GROUP_CONCAT and of the projection, and the list."""
    client = ListClient(server.port)
    client.run("USE ssb")
    client.run("SET SESSION group_concat_max_len = 100000000")
    listed, text = best_of(rounds, lambda: client.run_list(f"SELECT GROUP_CONCAT(p_partkey) FROM {table} WHERE {KEYS}"))
    projected, _ = best_of(rounds, lambda: client.answer(f"SELECT p_partkey FROM {table} WHERE {KEYS}"))
    return listed, projected, text


def of_duckdb(file, rounds, threads):
    """Milliseconds of string_agg within this process, and the list."""
    connection = duckdb.connect(config={"threads": threads})
    columns = "p_partkey INT, p_name VARCHAR, p_mfgr VARCHAR, p_category VARCHAR, p_brand VARCHAR, p_color VARCHAR, p_type VARCHAR, p_size INT, p_container VARCHAR"
    connection.execute(f"CREATE TABLE part ({columns})")
    connection.execute(f"COPY part FROM '{file}' (HEADER false)")
    query = f"SELECT string_agg(p_partkey, ',') FROM part WHERE {KEYS}"
    ms, row = best_of(rounds, lambda: connection.execute(query).fetchone())
    return ms, row[0].encode()
