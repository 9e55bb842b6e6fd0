// fetch of Node: statements, streams that are read while they come, cancelled requests, logins.
'use strict';
const assert = require('node:assert');

const url = process.env.SQUALL_HTTP || 'http://127.0.0.1:8086';
const login = { Authorization: `Basic ${Buffer.from('root:').toString('base64')}` };
const ask = (body, headers = {}, more = {}) => fetch(`${url}/1.0/sql`, {
  method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'application/json', ...login, ...headers }, ...more,
});
const rows = async (sql, params = []) => (await (await ask({ sql, params })).json()).results[0].rows;

const cases = {
  async 'numbers are safe'() {
    const [row] = await rows('SELECT 9007199254740991, 9007199254740993, 1.50, NULL, ?, ?', ['☃ 𝄢', { a: [1] }]);
    assert.deepStrictEqual(row, [9007199254740991, '9007199254740993', '1.50', null, '☃ 𝄢', '{"a":[1]}']);
  },
  async 'lines come while the query runs'() {
    await rows('CREATE DATABASE IF NOT EXISTS client_fetch');
    const answer = await ask({ sql: "SELECT seq, REPEAT('x', 200) AS text FROM seq_1_to_200000", database: 'client_fetch' },
      { Accept: 'application/x-ndjson' });
    assert.strictEqual(answer.headers.get('content-type'), 'application/x-ndjson');
    let count = 0, rest = '', pieces = 0;
    for await (const text of answer.body.pipeThrough(new TextDecoderStream())) {
      pieces += 1;
      const lines = (rest + text).split('\n');
      rest = lines.pop();
      for (const line of lines) { count += 1; assert.strictEqual(JSON.parse(line).seq, count); }
    }
    assert.strictEqual(count, 200000);
    assert.ok(pieces > 100, `${pieces} pieces`);
  },
  async 'an aborted request ends its statement'() {
    const abort = new AbortController();
    const asked = ask({ sql: 'SELECT SLEEP(600)' }, {}, { signal: abort.signal });
    const running = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO = 'SELECT SLEEP(600)'";
    const until = async (wanted) => {
      for (let tries = 0; tries < 200; tries += 1) {
        if ((await rows(running))[0][0] === wanted) return;
        await new Promise((done) => setTimeout(done, 100));
      }
      assert.fail(`there are not ${wanted} statements`);
    };
    await until(1);
    abort.abort();
    await assert.rejects(asked);
    await until(0);
  },
  async 'a page logs in and out'() {
    const begun = await fetch(`${url}/1.0/session`, { method: 'POST', headers: login });
    assert.strictEqual(begun.status, 201);
    const cookie = begun.headers.get('set-cookie').split(';')[0];
    const { csrf_token: token } = await begun.json();
    const page = { Authorization: undefined, Cookie: cookie, 'X-CSRF-Token': token };
    const as = (headers) => fetch(`${url}/1.0/sql`, {
      method: 'POST', body: '{"sql":"SELECT 1"}', headers: { 'Content-Type': 'application/json', ...headers },
    });
    assert.strictEqual((await as({ Cookie: cookie, 'X-CSRF-Token': token })).status, 200);
    assert.strictEqual((await as({ Cookie: cookie })).status, 403);
    delete page.Authorization;
    assert.strictEqual((await fetch(`${url}/1.0/session`, { method: 'DELETE', headers: page })).status, 204);
    assert.strictEqual((await as({ Cookie: cookie, 'X-CSRF-Token': token })).status, 401);
  },
  async 'errors are problems'() {
    const answer = await ask({ sql: 'SELEC 1' });
    assert.strictEqual(answer.status, 400);
    assert.strictEqual(answer.headers.get('content-type'), 'application/problem+json');
    assert.strictEqual((await answer.json()).error_code, 1064);
  },
};

(async () => {
  let failed = 0;
  for (const [name, run] of Object.entries(cases)) {
    try { await run(); } catch (error) { failed += 1; console.log(`  test_fetch.js: ${name} failed`); console.log(error); }
  }
  console.log(`  test_fetch.js: ${Object.keys(cases).length - failed} passed, ${failed} failed`);
  process.exit(failed ? 1 : 0);
})();
