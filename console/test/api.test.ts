import assert from "node:assert/strict";
import { test } from "node:test";
import * as api from "../src/api";

interface Sent {
  path: string;
  init: RequestInit;
}

/** Answers requests by a list, and notes them. */
function serve(...answers: (Response | Error)[]): Sent[] {
  const sent: Sent[] = [];
  globalThis.fetch = (async (path: string, init: RequestInit) => {
    sent.push({ path, init });
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer ?? new Response("", { status: 500 });
  }) as typeof fetch;
  return sent;
}

const json = (status: number, doc: unknown): Response => new Response(typeof doc === "string" ? doc : JSON.stringify(doc), { status });

test("a session's token goes with each statement, the password with none", async () => {
  const sent = serve(json(201, { account: "ada@%", csrf_token: "t0k" }), json(200, { results: [] }));
  assert.deepEqual(await api.logIn("ada", "p:ä"), { account: "ada@%" });
  await api.run("SELECT ?", { params: [1], max_rows: 5, signal: undefined });
  const first = new Headers(sent[0].init.headers);
  assert.equal(Buffer.from(first.get("Authorization")!.slice(6), "base64").toString("utf8"), "ada:p:ä");
  const second = new Headers(sent[1].init.headers);
  assert.equal(second.get("X-CSRF-Token"), "t0k");
  assert.equal(second.get("Authorization"), null);
  assert.ok(first.get("X-Requested-With") && second.get("X-Requested-With"));
  assert.deepEqual(JSON.parse(String(sent[1].init.body)), { sql: "SELECT ?", params: [1], max_rows: 5 });
});

test("statements without rows have no columns", async () => {
  serve(json(200, { results: [{ columns: [], rows: [], affected_rows: 2 }, { columns: [{ name: "a", type: "int" }], rows: [] }] }));
  const answer = await api.run("x");
  assert.equal(answer.results[0].columns, undefined);
  assert.deepEqual(answer.results[1].rows, []);
});

test("errors have the server's number, also beside results", async () => {
  serve(json(404, { status: 404, detail: "Table 'shop.x' doesn't exist", error_code: 1146, sqlstate: "42S02", statement: 2 }));
  await assert.rejects(api.run("x"), (error: api.ServerError) => error.problem.error_code === 1146 && error.problem.statement === 2 && !error.cancelled);
  serve(json(200, { results: [{ columns: [], rows: [] }], error: { detail: "late", error_code: 1317 } }));
  assert.equal((await api.run("x")).error?.error_code, 1317);
  serve(json(200, { results: [], error: { detail: "early" } }));
  await assert.rejects(api.run("x"), /early/);
  serve(new Response("<html>", { status: 502, statusText: "Bad Gateway" }));
  await assert.rejects(api.run("x"), /<html>/);
});

test("answers that are cut are errors", async () => {
  serve(json(200, '{"results":[{"columns":['));
  await assert.rejects(api.run("x"), /ended before the whole answer/);
  serve(new Error("reset"));
  await assert.rejects(api.run("x"), /does not answer/);
});

test("an abort is told apart from errors", async () => {
  const controller = new AbortController();
  controller.abort();
  serve(new Error("aborted"));
  await assert.rejects(api.run("x", { signal: controller.signal }), (error: api.ServerError) => error.cancelled);
});

test("the page hears that its session has ended", async () => {
  let lost = 0;
  api.onLogout(() => (lost += 1));
  serve(json(401, { status: 401, detail: "there is no login of this page" }));
  await assert.rejects(api.run("x"));
  assert.equal(lost, 1);
  serve(json(401, {}));
  assert.equal(await api.resume(), undefined);
  assert.equal(lost, 1);
});
