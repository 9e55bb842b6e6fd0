import assert from "node:assert/strict";
import { test } from "node:test";
import { tablesOf, wantsTable } from "../src/complete";
import { layout, misestimate, readJson, readTree, totalTime } from "../src/explain";
import { bytes, cellText, csv, duration, json, kindOf } from "../src/format";
import { percentile, rates, thin } from "../src/metrics";
import { placeOf } from "../src/position";
import { hasSecret, plainName, schemaOfUse, statementAt, statements } from "../src/split";
import { columnsInView, edges, rowsInView, scrollTo, toScroll, toTable } from "../src/window";

const texts = (sql: string): string[] => statements(sql).map((one) => one.text);

test("statements end at delimiters outside of strings, names and comments", () => {
  assert.deepEqual(texts("SELECT 1; SELECT 2"), ["SELECT 1", "SELECT 2"]);
  assert.deepEqual(texts("SELECT ';' , \"a\\\";\", `;` ; -- x;\nSELECT 2 # ;\n;"), ["SELECT ';' , \"a\\\";\", `;`", "SELECT 2"]);
  assert.deepEqual(texts("/* a; */ SELECT 1;;; SELECT 'it''s;'"), ["SELECT 1", "SELECT 'it''s;'"]);
  assert.deepEqual(texts("SELECT 1 --2; SELECT 3"), ["SELECT 1 --2", "SELECT 3"]);
  assert.deepEqual(texts("SELECT /*+ x */ 1; SELECT 'open"), ["SELECT /*+ x */ 1", "SELECT 'open"]);
  assert.deepEqual(texts("  -- nothing"), []);
});

test("bodies of routines are one statement", () => {
  const body = "CREATE PROCEDURE p() BEGIN IF a THEN SELECT 1; END IF; CASE x WHEN 1 THEN SELECT 2; END CASE; WHILE b DO SET b = 0; END WHILE; END";
  assert.deepEqual(texts(`${body}; SELECT CASE WHEN 1 THEN 2 END; SELECT 3`), [body, "SELECT CASE WHEN 1 THEN 2 END", "SELECT 3"]);
  assert.deepEqual(texts("DELIMITER //\nCREATE TRIGGER t BEFORE INSERT ON a FOR EACH ROW BEGIN SET @a = 1; END//\nDELIMITER ;\nSELECT 1;"), ["CREATE TRIGGER t BEFORE INSERT ON a FOR EACH ROW BEGIN SET @a = 1; END", "SELECT 1"]);
});

test("the statement at the cursor", () => {
  const sql = "SELECT 1;  \n\nSELECT 2;\n";
  assert.equal(statementAt(sql, 3)?.text, "SELECT 1");
  assert.equal(statementAt(sql, 10)?.text, "SELECT 1");
  assert.equal(statementAt(sql, 12)?.text, "SELECT 2");
  assert.equal(statementAt(sql, sql.length)?.text, "SELECT 2");
  assert.equal(statementAt("", 0), undefined);
});

test("a long text is split in a short time", () => {
  const long = "SELECT 'x' FROM `t` /* c */ WHERE a = 1;\n".repeat(20_000);
  const start = performance.now();
  assert.equal(statements(long).length, 20_000);
  assert.ok(performance.now() - start < 3000);
});

test("secrets, schemas and names", () => {
  assert.ok(hasSecret("CREATE USER a IDENTIFIED BY 'x'") && hasSecret("SET PASSWORD = 'x'") && !hasSecret("SELECT 1"));
  assert.equal(schemaOfUse(" use `a``b` ;"), "a`b");
  assert.equal(schemaOfUse("USE shop"), "shop");
  assert.equal(schemaOfUse("SELECT 1"), undefined);
  assert.equal(plainName("a b`"), "`a b```");
});

test("rows and columns in view", () => {
  assert.deepEqual(rowsInView(0, 250, 25, 100_000, 5), { first: 0, end: 15 });
  assert.deepEqual(rowsInView(2_499_750, 250, 25, 100_000, 5), { first: 99_985, end: 100_000 });
  assert.deepEqual(rowsInView(1e9, 250, 25, 10, 5), { first: 10, end: 10 });
  assert.deepEqual(rowsInView(0, 250, 25, 0, 5), { first: 0, end: 0 });
  const lefts = edges([100, 50, 200, 80]);
  assert.deepEqual(columnsInView(0, 120, lefts), { first: 0, end: 2 });
  assert.deepEqual(columnsInView(150, 10, lefts), { first: 2, end: 3 });
  assert.deepEqual(columnsInView(-50, 1000, lefts), { first: 0, end: 4 });
  assert.equal(scrollTo(100, 50, 40, 60), 40);
  assert.equal(scrollTo(0, 50, 60, 85), 35);
  assert.equal(scrollTo(0, 50, 10, 20), 0);
});

test("tables that are taller than an element are reached from end to end", () => {
  assert.equal(toTable(500, 300, 1000, 16_000), 500);
  assert.equal(toTable(0, 300, 25e6, 16e6), 0);
  assert.equal(toTable(16e6 - 300, 300, 25e6, 16e6), 25e6 - 300);
  assert.ok(Math.abs(toTable(toScroll(12_345_678, 300, 25e6, 16e6), 300, 25e6, 16e6) - 12_345_678) < 1e-6);
});

const ANALYZED = `-> Sort: s DESC, limit input to 5 row(s) per chunk  (rows=5) (actual time=0.075 rows=8 loops=1)
    -> Inner hash join (id = customer_id)  (rows=801) (actual time=1.5 rows=21002 loops=1) bytes=4096
        -> Table scan on c  (cost=801.00 rows=801) (actual time=0.935 rows=801 loops=1)
        -> Filter: (name = 'a (rows=1)')  (rows=36000) (never executed)
            -> Table scan on o  (cost=36000.00 rows=36000) (actual time=0.1..12.5 rows=10 loops=3)
`;

test("plans are read from trees", () => {
  const [root] = readTree(ANALYZED);
  assert.deepEqual([root.operator, root.estimatedRows, root.actualRows, root.time], ["Sort", 5, 8, 0.075]);
  const join = root.children[0];
  assert.deepEqual([join.operator, join.detail, join.bytes, join.children.length], ["Inner hash join", "(id = customer_id)", 4096, 2]);
  const [scan, filter] = join.children;
  assert.deepEqual([scan.operator, scan.detail, scan.cost], ["Table scan", "on c", 801]);
  assert.equal(filter.neverRun, true);
  const inner = filter.children[0];
  assert.deepEqual([inner.time, inner.loops, inner.actualRows], [37.5, 3, 30]);
  assert.ok(Math.abs(totalTime([root]) - 40.01) < 1e-9);
  assert.deepEqual(readTree("no plan"), []);
  assert.equal(Math.round(misestimate(join) ?? 0), 26);
});

test("MySQL's times include those below", () => {
  const [root] = readTree("-> Limit: 1  (actual time=0.1..10 rows=1 loops=1)\n    -> Table scan on t  (actual time=0.1..9 rows=5 loops=1)");
  assert.deepEqual([root.time, root.children[0].time], [1, 9]);
});

test("deep trees and documents do not exhaust the stack", () => {
  const lines = Array.from({ length: 5000 }, (_, i) => " ".repeat(4 * i) + "-> Filter: x  (rows=1)");
  assert.ok(layout(readTree(lines.join("\n"))).depth <= 402);
  let doc: unknown = { table: { table_name: "t", access_type: "ALL" } };
  for (let i = 0; i < 3000; i += 1) doc = { ordering_operation: doc };
  assert.equal(readJson({ query_block: doc }).length, 1);
});

test("plans are read from documents", () => {
  const [query] = readJson({ query_block: { select_id: 1, nested_loop: [{ table: { table_name: "c", access_type: "ALL", rows_examined_per_scan: 801 } }, { table: { table_name: "o", access_type: "ref", key: "k" } }] } });
  assert.equal(query.operator, "Query");
  assert.deepEqual(query.children[0].children.map((one) => `${one.operator} ${one.detail}`), ["Table scan on c", "Index lookup on o using k"]);
  assert.deepEqual(readJson("x"), []);
});

test("operators stand above the middle of those below", () => {
  const { placed, width, depth } = layout(readTree(ANALYZED));
  assert.deepEqual([width, depth], [2, 4]);
  assert.deepEqual(placed.map((one) => [one.x, one.depth]), [[0.5, 0], [0.5, 1], [0, 2], [1, 2], [1, 3]]);
});

test("places of errors", () => {
  const at = (sql: string, message: string): string => {
    const place = placeOf(sql, message);
    return place ? sql.slice(place.from, place.to) : "nowhere";
  };
  assert.equal(at("select 1,\n 2 fro x where 1", "… to use near 'x where 1' at line 2"), "x");
  assert.equal(at("selec 1", "… near 'selec 1' at line 1"), "selec");
  assert.equal(at("select (1 ", "… near '' at line 1"), "1");
  assert.equal(at("select `nme` from customer", "Unknown column 'nme' in 'field list'"), "`nme`");
  assert.equal(at("select * from nope", "Table 'shop.nope' doesn't exist"), "nope");
  assert.equal(at("select nofn(1)", "FUNCTION shop.nofn does not exist"), "nofn");
  assert.equal(at("select 1", "Deadlock found"), "nowhere");
});

test("completion knows the tables of a statement", () => {
  assert.deepEqual(tablesOf("SELECT * FROM shop.orders o, `a b` AS c JOIN visit ON 1", "d"), [
    { schema: "shop", table: "orders", alias: "o" },
    { schema: "d", table: "a b", alias: "c" },
    { schema: "d", table: "visit", alias: "visit" },
  ]);
  assert.ok(wantsTable("SELECT * FROM or") && wantsTable("SELECT 1 FROM a x, b") && !wantsTable("SELECT * FROM a WHERE i"));
});

test("values as texts", () => {
  assert.equal(bytes(0), "0 B");
  assert.equal(bytes(1536), "1.50 KiB");
  assert.deepEqual([duration(0.0123), duration(12.34), duration(90_000)], ["12.3 µs", "12.3 ms", "1 min 30 s"]);
  assert.deepEqual(["int", "varbinary", "datetime", "json", "varchar"].map(kindOf), ["number", "binary", "time", "json", "text"]);
  assert.equal(cellText("AP8=", "binary"), "0x00ff");
  assert.equal(cellText("a\nb\u0000\u202e", "text"), "a↵b��");
  assert.equal(cellText(null, "text"), "NULL");
  const columns = [{ name: "a", type: "int" }, { name: "b,c", type: "varchar" }];
  assert.equal(csv(columns, [[1, 'x"y'], [null, ""]]), 'a,"b,c"\r\n1,"x""y"\r\n,""\r\n');
  assert.deepEqual(JSON.parse(json([{ name: "a", type: "int" }, { name: "a", type: "int" }], [[1, 2]])), [{ a: 1, a_2: 2 }]);
});

test("rates and percentiles of counters", () => {
  assert.deepEqual(rates([0, 10, 20, 30], [0, 100, null, 50]), [10, null, null]);
  assert.deepEqual(rates([0, 10], [100, 20]), [2]);
  const before = new Map([[1, { high: 1e9, count: 10 }]]);
  const now = new Map([[1, { high: 1e9, count: 100 }], [2, { high: 5e9, count: 10 }]]);
  assert.equal(percentile(before, now, 0.5), 1);
  assert.equal(percentile(before, now, 0.95), 5);
  assert.equal(percentile(now, now, 0.5), null);
  assert.deepEqual(thin([1, 2, 3, 4, 5], 3), [1, 3, 5]);
});
