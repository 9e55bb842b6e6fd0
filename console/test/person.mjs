// What a person does in the console, and what the tests watch meanwhile.
import { readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { chromium } from "playwright-core";
import { out } from "../build.mjs";
import { POLICY, TYPES } from "./mock.mjs";
import { browser as program } from "./server.mjs";

export const launch = () => chromium.launch({ executablePath: program(), args: ["--no-sandbox"] });

/** Gives a page the built files in the place of those that a server has. */
async function overlay(page) {
  await page.route(/\/(app\.js|app\.css|icon\.svg|#.*)?$/, (route) => {
    const name = new URL(route.request().url()).pathname.slice(1) || "index.html";
    return route.fulfill({ body: readFileSync(join(out, name)), headers: { "Content-Type": TYPES[extname(name)], "Content-Security-Policy": POLICY } });
  });
}

/** A page that notes all that must not happen: other hosts, violations of the policy, dialogs, errors. */
export async function openPage(browser, url, { width = 1280, height = 800, dark = true, context: more = {} } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: dark ? "dark" : "light", permissions: ["clipboard-read", "clipboard-write"], acceptDownloads: true, ...more });
  const page = await context.newPage();
  const wrong = [];
  const host = new URL(url).host;
  page.on("request", (request) => {
    const asked = new URL(request.url());
    if (asked.protocol !== "blob:" && asked.host !== host) wrong.push(`request to ${request.url()}`);
  });
  page.on("dialog", (dialog) => {
    wrong.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("pageerror", (error) => wrong.push(`error: ${error.message}`));
  page.on("console", (message) => {
    if (/content security policy|violat/i.test(message.text())) wrong.push(message.text());
  });
  await page.addInitScript(() => {
    window.violations = [];
    document.addEventListener("securitypolicyviolation", (event) => window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
  });
  page.wrong = wrong;
  if (process.env.CONSOLE_FILES) await overlay(page);
  await page.goto(url);
  return page;
}

export async function logIn(page, user = "root", password = "") {
  await page.getByLabel("User").fill(user);
  await page.getByLabel("Password").fill(password);
  await page.keyboard.press("Enter");
  await page.locator(".tree-line.schema").first().waitFor();
}

/** Puts a text in the editor, in the place of what it has, as if it was pasted. */
export async function write(page, text) {
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Delete");
  await page.keyboard.insertText(text);
  await page.keyboard.press("Escape");
}

/** Writes a text, runs it, and waits for its answer. */
export async function run(page, text, keys = "Control+Enter") {
  await write(page, text);
  await page.keyboard.press(keys);
  await page.waitForFunction(() => !document.querySelector(".wait") && !document.querySelector(".run.danger"));
}

/** Waits until a condition holds, at most ten seconds. */
export async function eventually(what, condition) {
  for (let i = 0; i < 100; i += 1) {
    if (await condition()) return;
    await new Promise((again) => setTimeout(again, 100));
  }
  throw new Error(`never: ${what}`);
}
