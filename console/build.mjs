// Builds the committed bundle, or (--check) says whether the committed one is that of the source.
import { build } from "esbuild";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
/** Where the server's crate takes the files from. */
export const out = join(here, "../crates/http-api/console");
/** Bytes that all files may have, compressed by gzip. */
export const limit = 400_000;

/** The files of the bundle, by name. */
export async function bundle() {
  const result = await build({
    absWorkingDir: here,
    entryPoints: { app: "src/main.ts" },
    bundle: true,
    minify: true,
    format: "iife",
    target: ["chrome109", "firefox110", "safari16.4"],
    charset: "utf8",
    legalComments: "none",
    metafile: true,
    outdir: out,
    write: false,
    logLevel: "warning",
  });
  const files = new Map(result.outputFiles.map((file) => [file.path.slice(out.length + 1), Buffer.from(file.contents)]));
  files.set("app.js", Buffer.concat([files.get("app.js"), licenses(result.metafile)]));
  for (const name of ["index.html", "icon.svg"]) files.set(name, readFileSync(join(here, "src", name)));
  return files;
}

/** The licenses of the packages that are in the bundle, which want to be beside their code. */
function licenses(metafile) {
  const packages = new Set();
  for (const path of Object.keys(metafile.inputs)) {
    const match = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path);
    if (match) packages.add(match[1]);
  }
  const byText = new Map();
  for (const name of [...packages].sort()) {
    const folder = join(here, "node_modules", name);
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    if (!file) throw new Error(`${name} has no license`);
    const text = readFileSync(join(folder, file), "utf8").trim().replaceAll("*/", "* /");
    byText.set(text, [...(byText.get(text) ?? []), name]);
  }
  const parts = [...byText].map(([text, names]) => `${names.join(", ")}:\n\n${text}\n`);
  return Buffer.from(`/*\n${parts.join("\n")}*/\n`);
}

/** Bytes of the files after gzip. */
export function compressed(files) {
  let sum = 0;
  for (const bytes of files.values()) sum += gzipSync(bytes, { level: 9 }).length;
  return sum;
}

/** Names of committed files that differ from the source's. */
export function differences(files) {
  const different = [];
  for (const [name, bytes] of files) {
    let committed;
    try {
      committed = readFileSync(join(out, name));
    } catch {
      committed = Buffer.alloc(0);
    }
    if (!committed.equals(bytes)) different.push(name);
  }
  return different;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const files = await bundle();
  const size = compressed(files);
  if (process.argv.includes("--check")) {
    const different = differences(files);
    if (different.length > 0) {
      console.error(`not the bundle of the source: ${different.join(", ")}; run \`npm run build\` in console/`);
      process.exit(1);
    }
  } else {
    mkdirSync(out, { recursive: true });
    for (const [name, bytes] of files) writeFileSync(join(out, name), bytes);
  }
  console.log(`${[...files.keys()].join(", ")}: ${size} bytes compressed, ${limit} allowed`);
  if (size > limit) process.exit(1);
}
