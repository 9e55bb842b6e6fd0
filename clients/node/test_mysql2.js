// mysql2 for Node: text and prepared statements of every type, transactions, streams, errors, LOCAL INFILE, cancel, a schedule from the web.
'use strict';
const assert = require('node:assert');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { Readable } = require('node:stream');
const mysql = require('mysql2/promise');

const options = {
  host: '127.0.0.1', port: Number(process.env.SQUALL_PORT || 3306), user: 'root', charset: 'utf8mb4',
  supportBigNumbers: true, bigNumberStrings: true, dateStrings: true, multipleStatements: true,
};
const connect = (more = {}) => mysql.createConnection({ ...options, ...more });

const TYPES = [
  ['c_tiny', 'TINYINT', -128, -128], ['c_ubig', 'BIGINT UNSIGNED', '18446744073709551615', '18446744073709551615'],
  ['c_dec', 'DECIMAL(20,5)', '-123456789012345.54321', '-123456789012345.54321'], ['c_double', 'DOUBLE', 0.1, 0.1],
  ['c_float', 'FLOAT', 1.25, 1.25], ['c_date', 'DATE', '2024-02-29', '2024-02-29'],
  ['c_datetime', 'DATETIME(6)', '9999-12-31 23:59:59.999999', '9999-12-31 23:59:59.999999'],
  ['c_time', 'TIME', '-838:59:58', '-838:59:58'], ['c_year', 'YEAR', 2155, 2155],
  ['c_varchar', 'VARCHAR(100)', 'naïve ☃ 𝄢 \'"\\\n', 'naïve ☃ 𝄢 \'"\\\n'],
  ['c_blob', 'BLOB', Buffer.from([0, 255, 128, 39]), Buffer.from([0, 255, 128, 39])],
  ['c_enum', "ENUM('a','b')", 'b', 'b'], ['c_set', "SET('x','y','z')", 'x,z', 'x,z'],
  ['c_json', 'JSON', '{"a": [1, null]}', { a: [1, null] }], ['c_bit', 'BIT(10)', 515, Buffer.from([2, 3])],
];

async function fresh(con) {
  await con.query('DROP DATABASE IF EXISTS client_node; CREATE DATABASE client_node; USE client_node');
}

const cases = {
  async everyType() {
    const con = await connect();
    await fresh(con);
    await con.query(`CREATE TABLE t (id INT PRIMARY KEY, ${TYPES.map(([c, t]) => `${c} ${t}`).join(', ')})`);
    const holes = TYPES.map(() => '?').join(', ');
    const values = TYPES.map((t) => t[2]);
    await con.query(`INSERT INTO t VALUES (1, ${holes})`, values);
    await con.execute(`INSERT INTO t VALUES (2, ${holes})`, values);
    await con.execute(`INSERT INTO t VALUES (3, ${holes})`, TYPES.map(() => null));
    for (const read of [con.query.bind(con), con.execute.bind(con)]) {
      const [rows] = await read('SELECT * FROM t ORDER BY id');
      for (const row of rows.slice(0, 2)) {
        for (const [column, , , want] of TYPES) assert.deepStrictEqual(row[column], want, column);
      }
      for (const [column] of TYPES) assert.strictEqual(rows[2][column], null, column);
    }
    await con.end();
  },
  async tls() {
    const con = await connect({ ssl: { rejectUnauthorized: false } });
    const [[row]] = await con.query("SHOW STATUS LIKE 'Ssl_version'");
    assert.match(row.Value, /^TLSv1/);
    await con.end();
  },
  async compressed() {
    const con = await connect({ compress: true });
    const [[row]] = await con.query("SHOW STATUS LIKE 'Compression'");
    assert.strictEqual(row.Value, 'ON');
    await fresh(con);
    await con.query('SET GLOBAL local_infile = 1; CREATE TABLE t (id INT PRIMARY KEY, s LONGTEXT)');
    for (const length of [1, 100, 1000000]) await con.execute('INSERT INTO t VALUES (?, ?)', [length, 'é'.repeat(length)]);
    const [rows] = await con.query('SELECT id, s FROM t ORDER BY id');
    for (const { id, s } of rows) assert.strictEqual(s, 'é'.repeat(id));
    await con.end();
  },
  async transaction() {
    const con = await connect();
    await fresh(con);
    await con.query('CREATE TABLE t (id INT PRIMARY KEY)');
    await con.beginTransaction();
    await con.query('INSERT INTO t VALUES (1)');
    await con.rollback();
    const [rows] = await con.query('SELECT * FROM t');
    assert.strictEqual(rows.length, 0);
    await con.end();
  },
  async errors() {
    const con = await connect();
    await assert.rejects(con.query('SELECT * FROM nowhere.t'), { errno: 1049 });
    await assert.rejects(con.execute('SELEC 1'), { errno: 1064, sqlState: '42000' });
    await con.end();
  },
  async stream() {
    const con = await connect();
    await fresh(con);
    await con.query('CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, s VARCHAR(50))');
    const values = Array.from({ length: 5000 }, (_, i) => [`row ${i}`]);
    const [result] = await con.query('INSERT INTO t (s) VALUES ?', [values]);
    assert.strictEqual(result.affectedRows, 5000);
    let count = 0;
    for await (const row of con.connection.query('SELECT * FROM t').stream()) count += row.id > 0 ? 1 : 0;
    assert.strictEqual(count, 5000);
    await con.end();
  },
  async localInfile() {
    const con = await connect();
    await fresh(con);
    await con.query('SET GLOBAL local_infile = 1');
    await con.query('CREATE TABLE t (id INT, s TEXT)');
    await con.query({
      sql: "LOAD DATA LOCAL INFILE 'x' INTO TABLE t", infileStreamFactory: () => Readable.from([Buffer.from('1\tone\n'), Buffer.from('2\ttwo\n')]),
    });
    const [rows] = await con.query('SELECT * FROM t ORDER BY id');
    assert.deepStrictEqual(rows.map((row) => row.s), ['one', 'two']);
    await con.end();
  },
  async multipleResults() {
    const con = await connect();
    const [results] = await con.query('SELECT 1 AS a; SELECT 2 AS b');
    // Calculated integers are BIGINT, as in MySQL, and BIGINT comes as text by this connection's options.
    assert.deepStrictEqual(results.map((rows) => Object.values(rows[0])[0]), ['1', '2']);
    await con.end();
  },
  async queriesInTheBackground() {
    const con = await connect();
    await fresh(con);
    const queue = async (sql) => (await con.query('CALL async.queue(?)', [sql]))[0][0][0].QUERY_NUMBER;
    const [one, two] = [await queue("SELECT 'ü' AS s, 1.50 AS d"), await queue('SELECT * FROM nowhere')];
    for (const read of [con.query.bind(con), con.execute.bind(con)]) {
      const [results] = await read('CALL async.wait(?)', [one]);
      assert.deepStrictEqual([results[0], results.length], [[{ s: 'ü', d: '1.50' }], 2]);
      await assert.rejects(read('CALL async.wait(?)', [two]), { errno: 1146, sqlState: '42S02' });
    }
    const [results] = await con.execute('CALL async.wait_list(?)', [`${one},${one}`]);
    assert.deepStrictEqual(results.slice(0, 3), [[{ s: 'ü', d: '1.50' }], [{ s: 'ü', d: '1.50' }], [{ list: '' }]]);
    await con.end();
  },
  async textsAsStatements() {
    const con = await connect();
    await fresh(con);
    await con.query('CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(40))');
    await con.query('SET @q = ?, @v = ?', ['SELECT ? AS v', "it's; a 'value'"]);
    assert.deepStrictEqual((await con.query('EXECUTE @q USING @v'))[0], [{ v: "it's; a 'value'" }]);
    const [ok] = await con.query('EXECUTE ? WITH NO RETURN', ["INSERT INTO t VALUES (1, 'a;b'); INSERT INTO t VALUES (2, 'ü')"]);
    assert.strictEqual(ok.affectedRows, 2);
    for (const read of [con.query.bind(con), con.execute.bind(con)]) {
      const [rows] = await read('SELECT EXECUTE(?) AS done', ['INSERT INTO t SELECT MAX(id) + 1, NULL FROM t; DO 1']);
      assert.strictEqual(Number(rows[0].done), 1);
      await assert.rejects(read('SELECT EXECUTE(?) AS done', ['DELETE FROM t; SELECT * FROM nowhere']), { errno: 1146, sqlState: '42S02' });
    }
    assert.strictEqual(Number((await con.query('SELECT COUNT(*) AS n FROM t'))[0][0].n), 4);
    await con.end();
  },
  // The guide's statement: fetched by HTTP_GET, made SQL of by JS, run by EXECUTE.
  async scheduleFromTheWeb() {
    const text = fs.readFileSync(path.join(__dirname, '../../docs/guide/schedule.md'), 'utf8');
    const guide = (language) => text.split(`\`\`\`${language}\n`)[1].split('```')[0];
    const web = http.createServer((_, answer) => answer.end(guide('text')));
    await new Promise((done) => web.listen(0, '127.0.0.1', done));
    const con = await connect();
    await fresh(con);
    const url = `http://127.0.0.1:${web.address().port}/live.txt`;
    const sql = guide('sql').trim().replace('http://schedule.example/live.txt', url);
    const want = [
      { start_time: '2012-06-16 09:00:00', stage: 'Opening remarks', mr2: 'Lock  picking 101', mr1: 'Knitting', duration: 30 },
      { start_time: '2012-06-16 09:30:00', stage: null, mr2: '☃ and friends', mr1: null, duration: 45 },
      { start_time: '2012-06-16 10:15:00', stage: null, mr2: null, mr1: "O'Reilly; and more", duration: 60 },
    ];
    await assert.rejects(con.query(sql), { errno: 50411 });
    await con.query('SET GLOBAL http_client_allow_private = ON');
    try {
      // As a text, and prepared with the address as a parameter.
      const prepared = sql.replace(`'${url}'`, '?');
      for (const run of [() => con.query(sql), () => con.execute(prepared.replace(/;$/, ''), [url])]) {
        const [[row]] = await run();
        assert.strictEqual(Number(Object.values(row)[0]), 1);
        assert.deepStrictEqual((await con.query('SELECT * FROM schedule ORDER BY start_time'))[0], want);
        await con.query('TRUNCATE schedule');
      }
    } finally {
      await con.query('SET GLOBAL http_client_allow_private = DEFAULT');
      web.close();
    }
    await con.end();
  },
  async cancel() {
    const con = await connect();
    const other = await connect();
    const sleep = con.query('SELECT SLEEP(20) AS s').then(([rows]) => rows[0].s, (error) => error.errno);
    await other.query('DO SLEEP(0.2)');
    await other.query(`KILL QUERY ${con.threadId}`);
    assert.ok([1, '1', 1317].includes(await sleep));
    await con.end();
    await other.end();
  },
};

(async () => {
  let failed = 0;
  for (const [name, run] of Object.entries(cases)) {
    try {
      await run();
    } catch (error) {
      failed += 1;
      console.log(`  test_mysql2.js: ${name} failed`);
      console.error(error);
    }
  }
  console.log(`  test_mysql2.js: ${Object.keys(cases).length - failed} passed, ${failed} failed`);
  process.exit(failed ? 1 : 0);
})();
