// Builds the unit tests with esbuild and gives them to Node's test runner; then the tests of the bundle, and those in a browser if there is one.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { readdirSync, rmSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "console-test-"));
const units = readdirSync(here).filter((name) => name.endsWith(".test.ts"));
await build({ entryPoints: units.map((name) => join(here, name)), bundle: true, platform: "node", format: "esm", outdir: folder, outExtension: { ".js": ".mjs" }, logLevel: "warning" });
const files = units.map((name) => join(folder, name.replace(/ts$/, "mjs")));
files.push(join(here, "bundle.test.mjs"));
if (!process.argv.includes("--no-browser")) files.push(join(here, "browser.test.mjs"));
const { status } = spawnSync(process.execPath, ["--test", "--test-concurrency=1", ...files], { stdio: "inherit" });
rmSync(folder, { recursive: true });
process.exit(status ?? 1);
