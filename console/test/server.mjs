// Starts what the browser tests look at: a server with the demo's data, with its own HTTP listener if it has one, else behind the mock.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import mysql from "mysql2/promise";
import { startMock } from "./mock.mjs";

const here = dirname(fileURLToPath(import.meta.url));

/** The server's program: SQUALL_BINARY, or the one that Cargo has built for the tests. */
export function binary() {
  const target = process.env.CARGO_TARGET_DIR ?? join(here, "../../target");
  return [process.env.SQUALL_BINARY, join(target, "debug/squall")].find((path) => path && existsSync(path));
}

/** The browser: CHROMIUM, or Debian's. */
export function browser() {
  return [process.env.CHROMIUM, "/usr/bin/chromium"].find((path) => path && existsSync(path));
}

export function freePort() {
  return new Promise((found, failed) => {
    const probe = createServer();
    probe.on("error", failed);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => found(port));
    });
  });
}

async function connected(port) {
  for (let i = 0; i < 200; i += 1) {
    try {
      return await mysql.createConnection({ host: "127.0.0.1", port, user: "root", multipleStatements: true });
    } catch {
      await new Promise((again) => setTimeout(again, 100));
    }
  }
  throw new Error("the server does not start");
}

/** Whether the program has a listener for HTTP. */
function hasListener() {
  return !process.env.CONSOLE_MOCK && spawnSync(binary(), ["serve", "--help"], { encoding: "utf8" }).stdout.includes("--http");
}

async function ownListener(port) {
  const url = `http://127.0.0.1:${port}`;
  const page = await fetch(url + "/app.js", { signal: AbortSignal.timeout(20_000) }).then((answer) => answer.text());
  const built = readFileSync(join(here, "../../crates/http-api/console/app.js"), "utf8");
  if (page !== built && !process.env.CONSOLE_FILES) throw new Error("the server has another console than this one: build it again");
  return url;
}

/** A server with data. `sql` is a connection of root; `url` is where the console is. */
export async function startServer() {
  const folder = mkdtempSync(join(tmpdir(), "console-data-"));
  const port = Number(process.env.SQUALL_PORT) || (await freePort());
  const http = Number(process.env.CONSOLE_PORT) || (await freePort());
  const listens = hasListener();
  const server = spawn(binary(), ["serve", "--datadir", folder, "--port", String(port), ...(listens ? ["--http", String(http)] : [])], { stdio: "ignore" });
  const sql = await connected(port);
  await sql.query(readFileSync(join(here, "demo.sql"), "utf8"));
  const own = listens ? await ownListener(http) : undefined;
  const mock = own ? undefined : await startMock({ port: http, target: { host: "127.0.0.1", port } });
  return {
    sql,
    url: own ?? mock.url,
    isMock: !own,
    async stop() {
      await mock?.close();
      sql.destroy();
      server.kill("SIGTERM");
      await new Promise((ended) => server.once("exit", ended));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

