// A server of the console for its tests, in front of any server of the MySQL protocol: the shapes of /1.0/sql and /1.0/session, and no more.
import { createServer } from "node:http";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, extname } from "node:path";
import mysql from "mysql2/promise";
import { out } from "../build.mjs";

export const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml" };
const NAMES = { 0: "decimal", 1: "tinyint", 2: "smallint", 3: "int", 4: "float", 5: "double", 7: "timestamp", 8: "bigint", 9: "mediumint", 10: "date", 11: "time", 12: "datetime", 13: "year", 16: "binary", 245: "json", 246: "decimal" };
export const POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'";
const STATUS = { 1064: 400, 1045: 401, 1142: 403, 1044: 403, 1049: 404, 1146: 404, 1317: 503 };

const typeOf = (field) => NAMES[field.columnType] ?? (field.characterSet === 63 ? "binary" : "varchar");

function valueOf(value, type) {
  if (value === null || value === undefined) return null;
  if (type === "binary") return Buffer.from(value).toString("base64");
  const text = Buffer.isBuffer(value) ? value.toString("utf8") : String(value);
  if (type === "json") return JSON.parse(text);
  if (/int|year/.test(type)) return Number.isSafeInteger(Number(text)) ? Number(text) : text;
  return /float|double/.test(type) ? Number(text) : text;
}

function result(rows, fields, most) {
  if (!fields) return { columns: [], rows: [], affected_rows: rows.affectedRows, insert_id: rows.insertId, warnings: [], truncated: false, ...(rows.info ? { info: rows.info.replace(/^[^A-Za-z]+/, "") } : {}) };
  const columns = fields.map((field) => ({ name: field.name, type: typeOf(field), sql_type: typeOf(field), nullable: (field.flags & 1) === 0 }));
  return { columns, rows: rows.slice(0, most).map((row) => row.map((value, i) => valueOf(value, columns[i].type))), affected_rows: 0, insert_id: 0, warnings: [], truncated: rows.length > most };
}

const quote = (text) => (/[",\r\n]/.test(text) || text === "" ? `"${text.replaceAll('"', '""')}"` : text);

/** The first result set in the form that was asked for. */
function formed(accepted, first) {
  const names = first.columns.map((column) => column.name);
  if (accepted.startsWith("text/csv")) return [names, ...first.rows].map((row) => row.map((value) => (value === null ? "" : quote(String(value)))).join(",")).join("\r\n") + "\r\n";
  return first.rows.map((row) => JSON.stringify(Object.fromEntries(row.map((value, i) => [names[i], value])))).join("\n") + "\n";
}

/** Starts it; `target` is where MySQL's protocol is spoken. */
export async function startMock({ port = 0, target }) {
  const sessions = new Map();
  const server = createServer((request, response) => {
    answer(request, response).catch((error) => problem(response, 500, { detail: String(error.stack) }));
  });

  function problem(response, status, body) {
    if (response.headersSent) return response.end();
    response.writeHead(status, { "Content-Type": "application/problem+json" });
    response.end(JSON.stringify({ type: "about:blank", title: "Error", status, ...body }));
  }

  function json(response, status, body, headers = {}) {
    response.writeHead(status, { "Content-Type": "application/json; charset=utf-8", ...headers });
    response.end(JSON.stringify(body));
  }

  function file(path, response) {
    const name = path === "/" ? "index.html" : path.slice(1);
    if (!["index.html", "app.js", "app.css", "icon.svg"].includes(name)) return problem(response, 404, { detail: "no such path" });
    response.writeHead(200, { "Content-Type": TYPES[extname(name)], "Content-Security-Policy": POLICY, "X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer" });
    response.end(readFileSync(join(out, name)));
  }

  const connect = (login, more = {}) => mysql.createConnection({ ...target, ...login, rowsAsArray: true, multipleStatements: true, dateStrings: true, supportBigNumbers: true, bigNumberStrings: true, typeCast: (field) => field.buffer(), ...more });

  async function body(request) {
    const parts = [];
    for await (const part of request) parts.push(part);
    return Buffer.concat(parts).toString("utf8");
  }

  async function answer(request, response) {
    const path = new URL(request.url, "http://x").pathname;
    const cookie = /squall_session=([\w-]+)/.exec(request.headers.cookie ?? "")?.[1] ?? "";
    const session = sessions.get(cookie);
    if (path === "/1.0/session" && request.method === "POST") return logIn(request, response);
    if (!path.startsWith("/1.0") && !path.startsWith("/json")) return file(path, response);
    if (!session) return problem(response, 401, { detail: "log in first" });
    if (path === "/1.0/session" && request.method === "GET") return json(response, 200, { account: session.account, csrf_token: session.csrf });
    if (request.headers["x-csrf-token"] !== session.csrf) return problem(response, 403, { detail: "the token is missing" });
    if (path === "/1.0/session") {
      sessions.delete(cookie);
      response.writeHead(204, { "Set-Cookie": "squall_session=; Path=/; Max-Age=0" });
      return response.end();
    }
    if (path === "/1.0/sql") return sql(session, request, response);
    if (path === "/json") return json(response, 200, { result_set: [{ _id: 1, document: { name: "<script>alert(5)</script>" } }], sqlstate: "00000" });
    return problem(response, 404, { detail: "no such path" });
  }

  async function logIn(request, response) {
    const [user, ...rest] = Buffer.from((request.headers.authorization ?? "").replace(/^Basic /, ""), "base64").toString("utf8").split(":");
    const login = { user, password: rest.join(":") };
    try {
      await (await connect(login)).end();
    } catch (error) {
      return problem(response, 401, { detail: error.message, error_code: error.errno, sqlstate: error.sqlState });
    }
    const cookie = randomBytes(24).toString("base64url");
    const session = { login, account: `${user}@localhost`, csrf: randomBytes(24).toString("base64url") };
    sessions.set(cookie, session);
    return json(response, 200, { account: session.account, csrf_token: session.csrf }, { "Set-Cookie": `squall_session=${cookie}; HttpOnly; SameSite=Strict; Path=/` });
  }

  async function sql(session, request, response) {
    const asked = JSON.parse(await body(request));
    const started = performance.now();
    let connection;
    try {
      connection = await connect(session.login, { database: asked.database });
    } catch (error) {
      return problem(response, STATUS[error.errno] ?? 400, { detail: error.message, error_code: error.errno, sqlstate: error.sqlState });
    }
    let done = false;
    response.on("close", () => {
      if (!done) connect(session.login).then((other) => other.query(`KILL ${connection.threadId}`).finally(() => other.end())).catch(() => undefined);
    });
    try {
      if (asked.read_only) await connection.query("SET SESSION TRANSACTION READ ONLY");
      const [rows, fields] = await connection.query(asked.sql, asked.params);
      const several = Array.isArray(fields) && (fields.length === 0 || Array.isArray(fields[0]) || fields[0] === undefined);
      const results = several ? rows.map((one, i) => result(one, fields[i], asked.max_rows ?? Infinity)) : [result(rows, fields, asked.max_rows ?? Infinity)];
      const accepted = request.headers.accept ?? "application/json";
      done = true;
      if (accepted.startsWith("application/json")) return json(response, 200, { results, elapsed_ms: performance.now() - started });
      response.writeHead(200, { "Content-Type": accepted });
      return response.end(formed(accepted, results[0]));
    } catch (error) {
      done = true;
      return problem(response, STATUS[error.errno] ?? 400, { detail: error.message, error_code: error.errno, sqlstate: error.sqlState });
    } finally {
      connection.end().catch(() => undefined);
    }
  }

  await new Promise((ready) => server.listen(port, "127.0.0.1", ready));
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => new Promise((closed) => (server.closeAllConnections(), server.close(closed))) };
}

if (process.argv[1]?.endsWith("mock.mjs")) {
  const mock = await startMock({ port: Number(process.env.CONSOLE_PORT ?? 0), target: { host: "127.0.0.1", port: Number(process.env.SQUALL_PORT ?? 3306) } });
  console.log(mock.url);
}
