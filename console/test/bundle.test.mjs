import assert from "node:assert/strict";
import { test } from "node:test";
import { bundle, compressed, differences, limit } from "../build.mjs";

test("the committed bundle is that of the source, and small", async () => {
  const files = await bundle();
  assert.deepEqual(differences(files), [], "run `npm run build` in console/");
  assert.ok(compressed(files) < limit, `${compressed(files)} bytes compressed`);
});

test("nothing of the bundle evaluates texts, loads from elsewhere, or writes markup", async () => {
  const files = await bundle();
  const script = files.get("app.js").toString("utf8");
  for (const wrong of [/\beval\(/, /new Function\(/, /\.innerHTML\s*=/, /\.outerHTML\s*=/, /insertAdjacentHTML/, /document\.write/, /setAttribute\("style"/]) assert.doesNotMatch(script, wrong);
  const loaded = [...script.matchAll(/https?:\/\/[^\s"'`)]+/g)].map(([url]) => url).filter((url) => !url.startsWith("http://www.w3.org/"));
  assert.deepEqual(loaded, []);
  assert.doesNotMatch(files.get("app.css").toString("utf8"), /url\(|https?:/);
  assert.doesNotMatch(files.get("index.html").toString("utf8"), /style=|onload=|<script>|https?:/);
});
