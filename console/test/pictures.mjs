// Takes the pictures of docs/images/ of a server with the demo's data, under load for a minute so that its health has something to show.
import { spawnSync } from "node:child_process";
import { mkdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { startServer } from "./server.mjs";
import { launch, openPage, run } from "./person.mjs";

const folder = join(dirname(fileURLToPath(import.meta.url)), "../../docs/images");
const LARGEST = 200_000;
const LOAD_SECONDS = Number(process.env.LOAD_SECONDS ?? 75);
const REVENUE = "SELECT c.country, COUNT(*) AS orders, SUM(o.amount) AS revenue\nFROM customer c\nJOIN orders o ON o.customer_id = c.id\nWHERE o.day >= '2025-06-01'\nGROUP BY c.country\nORDER BY revenue DESC;";
const TABLE = "-- Who ordered most in summer?\nSELECT c.name, c.country, c.note, c.token, COUNT(*) AS orders, SUM(o.amount) AS revenue, MAX(o.day) AS last\nFROM customer c\nJOIN orders o ON o.customer_id = c.id\nWHERE o.day BETWEEN '2025-06-01' AND '2025-08-31'\nGROUP BY c.id\nORDER BY revenue DESC;";
const SEASON = "SELECT day, SUM(amount) AS revenue, COUNT(*) * 300 AS target\nFROM orders\nGROUP BY day\nORDER BY day;";

let busyUntil = Infinity;

async function load(sql) {
  for (let i = 0; Date.now() < busyUntil; i += 1) {
    const busy = 4 + Math.round(3 * Math.sin(Date.now() / 9000));
    for (let k = 0; k < busy * 6; k += 1) await sql.query("SELECT name, country FROM shop.customer WHERE id = ?", [1 + ((i * 31 + k) % 800)]);
    if (i % 3 === 0) await sql.query("UPDATE shop.customer SET note = CONCAT('seen ', ?) WHERE id = ?", [i, 1 + (i % 800)]);
    if (i % 9 === 0) await sql.query("SELECT c.country, SUM(o.amount) FROM shop.customer c JOIN shop.orders o ON o.customer_id = c.id WHERE o.id < ? GROUP BY c.country", [100 + (i % 4000)]);
    await new Promise((then) => setTimeout(then, 60));
  }
}

async function pictures(page, name, views) {
  await enter(page);
  for (const view of views) {
    await SHOWN[view](page);
    await page.waitForTimeout(900);
    await page.mouse.move(0, 0);
    const path = join(folder, `console-${view}-${name}.png`);
    await page.screenshot({ path });
    spawnSync("pngquant", ["--force", "--skip-if-larger", "--output", path, "--quality", "70-95", path]);
    console.log(path, statSync(path).size);
    if (statSync(path).size > LARGEST) throw new Error(`${path} is too large`);
  }
}

async function enter(page) {
  await page.getByLabel("User").fill("root");
  await page.keyboard.press("Enter");
  await page.locator(".nav-link").first().waitFor();
  await page.waitForTimeout(800);
}

const at = (page, name) => page.getByRole("link", { name }).click();
const SHOWN = {
  async query(page) {
    await at(page, "Query");
    await run(page, TABLE);
  },
  async chart(page) {
    await at(page, "Query");
    await run(page, SEASON);
    await page.getByRole("tab", { name: "Chart" }).click();
    await page.getByLabel("target", { exact: true }).check();
  },
  async plan(page) {
    await at(page, "Query");
    await page.getByRole("separator").focus();
    for (let i = 0; i < 5; i += 1) await page.keyboard.press("ArrowUp");
    await run(page, REVENUE, "Alt+a");
  },
  async schema(page) {
    await at(page, "Schema");
    await page.locator(".schema-details button", { hasText: "orders" }).click();
  },
  async health(page) {
    await at(page, "Health");
    await page.waitForFunction(() => document.querySelectorAll(".tile canvas").length === 6);
  },
  async statements(page) {
    await at(page, "Statements");
    await page.locator(".statement-open").first().waitFor();
  },
};

mkdirSync(folder, { recursive: true });
const server = await startServer();
const browser = await launch();
try {
  // The tests' table with a malicious name is not for pictures.
  await server.sql.query("DROP TABLE shop.`<img src=x onerror=alert(1)>`; DELETE FROM shop.customer WHERE country = 'XX'; SET GLOBAL ps_history_interval = 1");
  const loading = load(server.sql);
  await new Promise((then) => setTimeout(then, LOAD_SECONDS * 1000));
  const open = (dark, width, height) => openPage(browser, server.url, { dark, width, height, context: { deviceScaleFactor: width < 500 ? 1.5 : 1 } });
  await pictures(await open(true, 1280, 800), "dark", ["health", "query", "chart"]);
  await pictures(await open(false, 1280, 800), "light", ["plan", "schema", "statements"]);
  await pictures(await open(true, 390, 780), "dark-390", ["query", "plan"]);
  await pictures(await open(false, 390, 780), "light-390", ["health", "chart"]);
  busyUntil = 0;
  await loading;
} finally {
  await browser.close();
  await server.stop();
}
