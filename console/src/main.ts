/** The shell: logs in, shows pages, and hears the keys of all of them. */

import "./app.css";
import "uplot/dist/uPlot.min.css";
import * as api from "./api";
import { catalog } from "./catalog";
import { DigestPage } from "./digests";
import { DocumentPage } from "./documents";
import { fill, h, icon, iconButton, type IconName } from "./dom";
import { HealthPage } from "./health";
import { showLogin, sign } from "./login";
import { problem } from "./listing";
import type { Command, Page } from "./page";
import { openPalette, openShortcuts } from "./palette";
import { QueryPage } from "./query";
import { RunningPage } from "./running";
import { SchemaPage } from "./schema";
import { plainName } from "./split";
import * as store from "./store";

type Theme = "light" | "dark" | "system";

const PAGES: [string, IconName, string][] = [
  ["query", "query", "Query"],
  ["schema", "schema", "Schema"],
  ["running", "running", "Running"],
  ["health", "health", "Health"],
  ["statements", "statements", "Statements"],
  ["documents", "documents", "Documents"],
];

const place = h("div", { id: "console" });

function setTheme(theme: Theme): void {
  store.setPreference("theme", theme);
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  window.dispatchEvent(new Event("squall-theme"));
}

function toggleTheme(): void {
  const dark = document.documentElement.dataset.theme === "dark" || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  setTheme(dark ? "light" : "dark");
}

class Shell {
  private readonly pages = new Map<string, Page>();
  private readonly query: QueryPage;
  private readonly main = h("main", { class: "main", tabindex: -1 });
  private readonly nav = h("nav", { class: "nav", "aria-label": "Pages" });
  private current = "";
  private readonly keys = (event: KeyboardEvent): void => this.key(event);
  private readonly moved = (): void => this.show(location.hash.slice(1));

  constructor(private readonly account: api.Account) {
    const open = (sql: string, database: string): void => {
      this.query.open(sql, database);
      location.hash = "query";
    };
    this.query = new QueryPage();
    this.pages.set("query", this.query);
    this.pages.set("schema", new SchemaPage(open));
    this.pages.set("running", new RunningPage());
    this.pages.set("health", new HealthPage());
    this.pages.set("statements", new DigestPage(open));
    this.pages.set("documents", new DocumentPage());
    const links = PAGES.map(([name, drawing, label], i) => h("a", { href: "#" + name, class: "nav-link", "data-page": name, title: `${label} (Alt+${i + 1})` }, icon(drawing), h("span", {}, label)));
    fill(this.nav, h("a", { href: "#query", class: "brand", title: "Squall", "aria-label": "Squall" }, sign()), ...links);
    const version = h("span", { class: "version" });
    const bar = h(
      "header",
      { class: "top" },
      h("span", { class: "top-name" }, "Squall"),
      h("span", { class: "account", title: "Account" }, this.account.account),
      version,
      h("span", { class: "spring" }),
      h("button", { type: "button", class: "button search", title: "Commands (Ctrl+K)", onclick: () => this.palette() }, icon("search"), h("span", { class: "search-text" }, "Search"), h("kbd", {}, "Ctrl+K")),
      iconButton("sun", "Light or dark", toggleTheme),
      iconButton("help", "Keys (?)", () => openShortcuts(this.commands())),
      iconButton("out", "Log out", () => void this.end()),
    );
    fill(place, h("a", { class: "skip", href: "#", onclick: (event: Event) => void (event.preventDefault(), this.main.focus()) }, "Skip to the page"), this.nav, bar, this.main);
    document.addEventListener("keydown", this.keys);
    window.addEventListener("hashchange", this.moved);
    void this.start(version);
    this.moved();
  }

  private async start(version: HTMLElement): Promise<void> {
    try {
      const [, rows] = await Promise.all([catalog.refresh(), api.table("SELECT VERSION(), CURRENT_USER()")]);
      version.textContent = String(rows[0]?.[0] ?? "");
      await catalog.words();
    } catch (error) {
      const box = h("div", {});
      problem(box, error);
      this.main.prepend(box);
    }
  }

  /** Takes the shell away, for the page of the log-in. */
  close(): void {
    this.pages.get(this.current)?.leave?.();
    document.removeEventListener("keydown", this.keys);
    window.removeEventListener("hashchange", this.moved);
  }

  private async end(): Promise<void> {
    await api.logOut().catch(() => undefined);
    begin("");
  }

  private show(wanted: string): void {
    const name = this.pages.has(wanted) ? wanted : "query";
    if (name === this.current) return;
    this.pages.get(this.current)?.leave?.();
    this.current = name;
    const page = this.pages.get(name);
    if (!page) return;
    fill(this.main, page.element);
    const label = PAGES.find(([one]) => one === name)?.[2] ?? "";
    document.title = `${label} · Squall`;
    for (const link of this.nav.querySelectorAll<HTMLElement>(".nav-link")) {
      if (link.dataset.page === name) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    page.enter?.();
  }

  private commands(): Command[] {
    const pages = PAGES.map(([name, , label], i): Command => ({ group: "Page", title: label, keys: `Alt+${i + 1}`, run: () => void (location.hash = name) }));
    const more: Command[] = [
      { group: "Everywhere", title: "Find a command, page or table", keys: "Ctrl+K", run: () => this.palette() },
      { group: "Everywhere", title: "Next part of the page: editor, result", keys: "F6", run: () => this.pages.get(this.current)?.nextPart?.() },
      { group: "Everywhere", title: "Keys", keys: "?", run: () => openShortcuts(this.commands()) },
      { group: "Everywhere", title: "Light or dark", keys: "Alt+L", run: toggleTheme },
      { group: "Everywhere", title: "Looks as the system's", run: () => setTheme("system") },
      { group: "Everywhere", title: "Log out", run: () => void this.end() },
    ];
    const query = this.query.commands().map((command) => ({ ...command, run: () => void ((location.hash = "query"), this.show("query"), command.run()) }));
    return [...query, ...pages, ...more];
  }

  private palette(): void {
    openPalette(this.commands(), (schema, name) => {
      this.query.open(`SELECT * FROM ${plainName(schema)}.${plainName(name)} LIMIT 100`, schema);
      location.hash = "query";
    });
  }

  private key(event: KeyboardEvent): void {
    if (event.defaultPrevented || event.isComposing) return;
    const ctrl = event.ctrlKey || event.metaKey;
    if (ctrl && !event.altKey && event.key.toLowerCase() === "k") {
      event.preventDefault();
      this.palette();
      return;
    }
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "Escape" && this.current === "query") this.query.cancel();
    const target = event.composedPath()[0];
    const typing = target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
    const pressed = keysOf(event);
    const command = this.commands().find((one) => one.keys === pressed);
    if (!command || (pressed === "?" && typing) || pressed === "Esc" || pressed === "Ctrl+F") return;
    if (pressed.startsWith("Ctrl+") && this.current !== "query") return;
    event.preventDefault();
    command.run();
  }
}

/** The name that the lists have for pressed keys. */
function keysOf(event: KeyboardEvent): string {
  if (event.key === "?") return "?";
  const key = event.altKey && event.code.startsWith("Key") ? event.code.slice(3) : event.altKey && event.code.startsWith("Digit") ? event.code.slice(5) : event.key.length === 1 ? event.key.toUpperCase() : event.key;
  return [event.ctrlKey || event.metaKey ? "Ctrl" : "", event.altKey ? "Alt" : "", event.shiftKey ? "Shift" : "", key].filter(Boolean).join("+");
}

let shell: Shell | undefined;

function open(account: api.Account): void {
  store.setOwner(account.account);
  shell = new Shell(account);
}

function begin(reason: string): void {
  shell?.close();
  shell = undefined;
  catalog.forget();
  document.title = "Log in · Squall";
  for (const dialog of document.querySelectorAll("dialog")) dialog.close();
  showLogin(place, reason, open);
}

async function main(): Promise<void> {
  setTheme(store.preference<Theme>("theme", "system"));
  document.body.append(place);
  api.onLogout(() => {
    if (shell) begin("The session has ended. Log in again: your tabs are kept.");
  });
  try {
    const account = await api.resume();
    if (account) open(account);
    else begin("");
  } catch (error) {
    begin(error instanceof Error ? error.message : String(error));
  }
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => window.dispatchEvent(new Event("squall-theme")));
void main();
