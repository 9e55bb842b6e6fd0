import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, describe, test } from "node:test";
import { binary, browser as program, startServer } from "./server.mjs";
import { eventually, launch, logIn, openPage, run, write } from "./person.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const missing = [!program() && "a browser (CHROMIUM)", !binary() && "a server (SQUALL_BINARY)"].filter(Boolean).join(" and ");
const skip = missing && !process.env.SQUALL_SKIP_IS_FAILURE ? `no ${missing}` : false;

describe("the console", { skip }, () => {
  let server;
  let browser;
  let page;

  before(async () => {
    assert.equal(missing, "", `no ${missing}`);
    server = await startServer();
    browser = await launch();
    page = await openPage(browser, server.url);
  });

  after(async () => {
    await browser?.close();
    await server?.stop();
  });

  const status = () => page.locator(".results-summary").textContent();

  test("a wrong name is refused and says so", async () => {
    await page.getByLabel("User").fill("nobody");
    await page.getByLabel("Password").fill("wrong");
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByText("Access denied").waitFor();
  });

  test("a session opens, and stays over a reload", async () => {
    await logIn(page);
    const [cookie] = await page.context().cookies();
    assert.equal(cookie.httpOnly && cookie.sameSite, "Strict");
    await page.reload();
    await page.locator(".tree-line.schema").first().waitFor();
  });

  test("the statement at the cursor runs, and its rows are a table", async () => {
    await run(page, "SELECT 1 AS one;\nSELECT id, name, note, token, '' AS nothing FROM shop.customer ORDER BY id LIMIT 7;");
    assert.equal(await status(), "7 rows");
    assert.equal(await page.locator(".grid-row").count(), 7);
    assert.equal(await page.locator("#cell-2-2.null").textContent(), "NULL");
    assert.match(await page.locator("#cell-0-3.binary").textContent(), /^0x[0-9a-f]{32}$/);
    assert.equal(await page.locator("#cell-0-4.empty").count(), 1);
  });

  test("a selection and a whole tab run as one session", async () => {
    await run(page, "SET @a = 5; SELECT @a + 1 AS six;", "Control+Shift+Enter");
    assert.equal(await page.locator("#cell-0-0").textContent(), "6");
    assert.equal(await page.getByLabel("Result of the statement").locator("option").count(), 2);
  });

  test("100,000 rows scroll, and few of them are drawn", async () => {
    await page.getByLabel("Most rows").selectOption("100000");
    await run(page, "SELECT a.id, b.name, b.created, a.amount FROM shop.orders a JOIN shop.customer b ON b.id <= 3 LIMIT 100000");
    assert.equal(await status(), "100,000 rows");
    const frames = await page.evaluate(async () => {
      const body = document.querySelector(".grid-body");
      const times = [];
      let last = performance.now();
      for (let i = 1; i <= 120; i += 1) {
        body.scrollTop = (body.scrollHeight * i) / 120;
        await new Promise(requestAnimationFrame);
        times.push(performance.now() - last);
        last = performance.now();
      }
      return times.sort((a, b) => a - b);
    });
    console.log(`frames while scrolling: median ${frames[60].toFixed(1)} ms, 95th ${frames[114].toFixed(1)} ms`);
    assert.ok(frames[60] < 100, "frames take too long");
    await page.locator("#cell-99999-0").waitFor();
    assert.ok((await page.locator(".grid-row").count()) < 80);
    assert.equal(await page.locator(".grid").getAttribute("aria-rowcount"), "100001");
  });

  test("an error is told, and its place is marked", async () => {
    await run(page, "SELECT 1;\n\nSELECT nme\nFROM shop.customer;");
    await page.getByRole("alert").getByText("Unknown column 'nme'").waitFor();
    await page.getByText("ERROR 1054 (42S22)").waitFor();
    assert.equal(await page.locator(".cm-error").textContent(), "nme");
    await run(page, "SELECT 1,\n 2 fro x where 1");
    assert.equal(await page.locator(".cm-error").textContent(), "x");
    await page.getByRole("button", { name: "line 2" }).waitFor();
    await run(page, "SELECT 2");
    assert.equal(await page.locator(".cm-error").count(), 0);
  });

  test("completion offers tables, columns and functions of the catalog", async () => {
    const offered = async (text) => {
      await write(page, "");
      await page.keyboard.type(text, { delay: 15 });
      await page.locator(".cm-tooltip-autocomplete li").first().waitFor();
      return page.locator(".cm-tooltip-autocomplete .cm-completionLabel").allTextContents();
    };
    assert.ok((await offered("SELECT * FROM shop.cus")).includes("customer"));
    assert.ok((await offered("SELECT * FROM shop.customer c WHERE c.cou")).includes("country"));
    assert.ok((await offered("SELECT conca")).includes("CONCAT"));
    assert.ok((await offered("SELECT * FROM sho")).includes("shop"));
    await page.keyboard.press("Escape");
  });

  test("a result is a chart by one click", async () => {
    await run(page, "SELECT day, SUM(amount) AS total, COUNT(*) AS orders FROM shop.orders GROUP BY day ORDER BY day");
    await page.getByRole("tab", { name: "Chart" }).click();
    await page.locator(".chart canvas").waitFor();
    assert.match(await page.locator(".chart-place").getAttribute("aria-label"), /^total by day. Lines of 365 points/);
    await page.getByLabel("orders", { exact: true }).check();
    await page.getByRole("button", { name: "Bars" }).click();
    assert.match(await page.locator(".chart-place").getAttribute("aria-label"), /^total, orders by day. Bars/);
  });

  test("a plan is drawn, as expected and as measured", async () => {
    const query = "SELECT c.country, SUM(o.amount) FROM shop.customer c JOIN shop.orders o ON o.customer_id = c.id GROUP BY c.country";
    await run(page, query, "Alt+e");
    assert.ok((await page.locator(".plan-card").count()) >= 4);
    assert.equal(await page.locator(".plan-fact.time").count(), 0);
    await run(page, query, "Alt+a");
    assert.equal(await page.locator(".plan-card").count(), await page.locator(".plan-fact.time").count());
    assert.ok((await page.locator(".plan-edge").count()) >= 3);
    await run(page, "UPDATE shop.customer SET note = 'x' WHERE id = 5", "Alt+e");
    assert.ok((await page.locator(".plan-card").count()) >= 1);
  });

  test("a running statement is cancelled", async () => {
    await write(page, "SELECT SLEEP(60)");
    await page.keyboard.press("Control+Enter");
    await page.locator(".wait").waitFor();
    await page.keyboard.press("Escape");
    await page.getByText("Cancelled after").waitFor();
    await eventually("the statement ends in the server", async () => (await server.sql.query("SELECT COUNT(*) AS n FROM performance_schema.processlist WHERE INFO = 'SELECT SLEEP(60)'"))[0][0].n === 0);
  });

  test("a running statement is killed from its page", async () => {
    await write(page, "SELECT SLEEP(61)");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("link", { name: "Running" }).click();
    const row = page.locator("tr", { hasText: "SELECT SLEEP(61)" });
    await row.getByRole("button", { name: /Kill the statement/ }).click();
    await row.waitFor({ state: "detached" });
    await page.getByRole("link", { name: "Query" }).click();
    await page.waitForFunction(() => !document.querySelector(".run.danger"));
    assert.ok((await page.getByText("interrupted").count()) + (await page.locator("#cell-0-0", { hasText: "1" }).count()) > 0);
  });

  test("names and data are text, whatever they hold", async () => {
    await page.locator(".tree-line.schema", { hasText: "shop" }).waitFor();
    const line = page.locator(".tree-line.table", { hasText: "<img src=x onerror=alert(1)>" });
    await line.waitFor();
    await line.focus();
    await page.keyboard.press("ArrowRight");
    await page.locator(".tree-line.column", { hasText: "<script>alert(2)</script>" }).waitFor();
    await page.getByRole("link", { name: "Schema" }).click();
    await page.locator(".schema-tree .tree-line.table", { hasText: "<img" }).click();
    await page.locator("td", { hasText: "<script>alert(2)</script>" }).waitFor();
    await page.getByRole("link", { name: "Query" }).click();
    await run(page, "SELECT name, note, '<img src=x onerror=alert(6)>' AS `<svg onload=alert(7)>` FROM shop.customer WHERE country = 'XX'");
    assert.equal(await page.locator("#cell-0-0").textContent(), "<script>alert(3)</script>");
    await page.getByRole("tab", { name: "Messages" }).click();
    await run(page, "SELECT `<img src=x onerror=alert(8)>` FROM shop.customer");
    await page.getByRole("alert").getByText("<img src=x onerror=alert(8)>").waitFor();
    assert.equal(await page.locator("#console img, #console script").count(), 0);
  });

  test("the pages of statements, health and documents have their contents", async () => {
    await server.sql.query("SET GLOBAL ps_history_interval = 1");
    await page.getByRole("link", { name: "Statements" }).click();
    await page.locator(".statement-open").first().waitFor();
    await page.getByRole("button", { name: /^Plan of SELECT DAY , SUM/ }).first().click();
    await page.locator("dialog .plan-card").first().waitFor();
    await page.keyboard.press("Escape");
    await eventually("three copies", async () => (await server.sql.query("SELECT COUNT(DISTINCT ts) AS n FROM ps_history.global_status"))[0][0].n >= 4);
    await page.getByRole("link", { name: "Health" }).click();
    await page.waitForFunction(() => document.querySelectorAll(".tile canvas").length === 6);
    assert.equal(await page.locator(".failure").count(), 0);
    await page.getByRole("link", { name: "Documents" }).click();
    await page.getByLabel("Table", { exact: true }).fill("people");
    await page.getByRole("button", { name: "Send" }).click();
    await page.locator(".document-answer .chip").waitFor();
    await page.getByRole("link", { name: "Query" }).click();
  });

  test("results are downloaded", async () => {
    await run(page, "SELECT id, name FROM shop.customer ORDER BY id LIMIT 2");
    const get = async (name) => {
      await page.locator("summary[aria-label='Download']").click();
      const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name, exact: true }).click()]);
      return readFileSync(await file.path(), "utf8");
    };
    assert.equal(await get("CSV"), "id,name\r\n1,Grace Okafor\r\n2,Linus Lindqvist\r\n");
    assert.equal(JSON.parse(await get("JSON"))[1].name, "Linus Lindqvist");
    assert.match(await get("CSV, all rows"), /^id,name\r?\n1,Grace Okafor/);
    assert.deepEqual(JSON.parse((await get("NDJSON, all rows")).split("\n")[0]), { id: 1, name: "Grace Okafor" });
    if (!server.isMock) assert.match(await get("Parquet, all rows"), /^PAR1.*PAR1$/s);
  });

  test("everything is done by keyboard", async () => {
    await page.reload();
    await page.locator(".tree-line.schema").first().waitFor();
    await page.keyboard.press("Alt+t");
    await page.keyboard.type("SELECT id, name FROM shop.customer ORDER BY id LIMIT 50");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+Enter");
    await page.locator("#cell-0-0").waitFor();
    await page.keyboard.press("F6");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Control+c");
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "Linus Lindqvist");
    await page.keyboard.press("Control+Shift+C");
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "2\tLinus Lindqvist");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByText("Linus Lindqvist").waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+k");
    await page.keyboard.type("health");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Health" }).waitFor();
    await page.keyboard.press("Alt+1");
    await page.keyboard.press("Alt+w");
    assert.equal(await page.locator(".tab-select").count(), 1);
  });

  test("tabs and history stay, passwords do not", async () => {
    await run(page, "SELECT 'kept';\nCREATE USER c IDENTIFIED BY 'hunter2';");
    await page.waitForTimeout(500);
    const stored = await page.evaluate(() => JSON.stringify({ ...localStorage }) + JSON.stringify({ ...sessionStorage }) + document.cookie);
    assert.match(stored, /kept/);
    assert.doesNotMatch(stored, /hunter2|csrf|squall_session/i);
    await page.keyboard.press("Alt+h");
    await page.getByRole("dialog", { name: "History" }).getByRole("button", { name: /SELECT id, name/ }).first().click();
    await eventually("the statement comes back", async () => (await page.locator(".cm-content").textContent()).includes("LIMIT 50"));
  });

  for (const [dark, width] of [[true, 1280], [false, 1280], [true, 390], [false, 390]]) {
    test(`${dark ? "dark" : "light"} at ${width} pixels: contrast and labels`, async () => {
      const other = await openPage(browser, server.url, { dark, width, height: 800 });
      const check = async (where) => {
        await other.waitForTimeout(200);
        const overflow = await other.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(overflow <= 0, `${where} is ${overflow} pixels too wide`);
        const found = await other.evaluate(() => window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"] }));
        assert.deepEqual(found.violations.map((one) => `${where}: ${one.id}: ${one.nodes.map((node) => node.target.join(" ")).slice(0, 5).join(", ")}`), []);
      };
      await other.getByLabel("User").waitFor();
      await other.evaluate(AXE);
      await check("log in");
      await other.getByLabel("User").fill("root");
      await other.keyboard.press("Enter");
      await other.locator(".nav-link").first().waitFor();
      await run(other, "SELECT c.country, COUNT(*) AS n, NULL AS x FROM shop.customer c GROUP BY c.country");
      await check("table");
      await other.getByRole("tab", { name: "Chart" }).click();
      await check("chart");
      await run(other, "SELECT * FROM shop.customer c JOIN shop.orders o ON o.customer_id = c.id", "Alt+a");
      await check("plan");
      await run(other, "SELECT oops");
      await check("error");
      for (const name of ["Schema", "Running", "Health", "Statements", "Documents"]) {
        await other.getByRole("link", { name }).click();
        await other.waitForTimeout(700);
        await check(name);
      }
      await other.keyboard.press("Control+k");
      await check("palette");
      assert.deepEqual(other.wrong, []);
      await other.context().close();
    });
  }

  test("nothing was asked of other hosts, and no policy was violated", async () => {
    assert.deepEqual(page.wrong, []);
    assert.deepEqual(await page.evaluate(() => window.violations), []);
  });

  test("the session ends", async () => {
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByLabel("User").waitFor();
    await page.reload();
    await page.getByLabel("User").waitFor();
  });

  test("another account sees what it may, and not the tabs of the first", async () => {
    await server.sql.query("CREATE USER d IDENTIFIED BY 'pw'; GRANT SELECT ON shop.* TO d");
    if (!server.isMock) await server.sql.query("GRANT JSON_API ON *.* TO d");
    await logIn(page, "d", "pw");
    assert.doesNotMatch(await page.locator(".cm-content").textContent(), /LIMIT 50|kept/);
    await run(page, "SELECT * FROM mysql.user");
    await page.getByRole("alert").getByText("command denied").waitFor();
    await run(page, "SELECT COUNT(*) FROM shop.orders");
    assert.equal(await page.locator("#cell-0-0").textContent(), "36000");
    for (const name of ["Schema", "Running", "Health", "Statements"]) {
      await page.getByRole("link", { name }).click();
      await page.locator("h1", { hasText: name }).waitFor();
      await page.waitForTimeout(300);
    }
    assert.deepEqual(page.wrong, []);
  });
});
