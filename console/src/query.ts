/** The page of queries: tabs, editor, results, and the schema beside them. */

import type { Problem } from "./answer";
import * as api from "./api";
import { catalog, SYSTEM, type TableInfo } from "./catalog";
import { announce, fill, h, icon, iconButton } from "./dom";
import { Editor } from "./editor";
import { bytes, duration } from "./format";
import { openHistory } from "./history";
import type { Command, Page } from "./page";
import { placeOf, type Range } from "./position";
import { Results } from "./results";
import { plainName, quoteName, schemaOfUse, statements } from "./split";
import { splitter } from "./splitter";
import * as store from "./store";
import { SchemaTree } from "./tree";

interface Tab {
  id: string;
  title: string;
  database: string;
  editor: Editor;
  output: HTMLElement;
  results?: Results;
  running?: AbortController;
}

type Chosen = Range & { text: string };

const LIMITS = [100, 1000, 10_000, 100_000, 1_000_000];
const DEFINITION = /^\s*(create|alter|drop|rename|truncate|import|load)\b/i;
const OF_SESSION = /^\s*(begin|start\s+transaction|set\s+(?!(global|persist)\b)|lock\s+tables|prepare|savepoint|create\s+temporary)\b/i;

export class QueryPage implements Page {
  readonly element: HTMLElement;
  private tabs: Tab[] = [];
  private active!: Tab;
  private readonly bar = h("div", { class: "tab-list", role: "group", "aria-label": "Tabs" });
  private readonly editorPlace = h("div", { class: "editor-place" });
  private readonly output = h("section", { class: "output", "aria-label": "Result" });
  private readonly database = h("select", { class: "select", "aria-label": "Schema" });
  private readonly limit = h("select", { class: "select", "aria-label": "Most rows" });
  private readonly readOnly = h("input", { type: "checkbox" });
  private readonly runButton = h("button", { type: "button", class: "button primary run", onclick: () => void this.toggleRun() });
  private saving = 0;

  constructor() {
    const tree = new SchemaTree({
      table: (table) => this.insertTable(table),
      column: (name) => this.active.editor.insert(plainName(name)),
      schema: (name) => this.setDatabase(name),
    });
    for (const one of LIMITS) this.limit.append(h("option", { value: one, selected: one === store.preference("limit", 10_000) }, `${one.toLocaleString("en-US")} rows`));
    this.limit.addEventListener("change", () => store.setPreference("limit", Number(this.limit.value)));
    this.database.addEventListener("change", () => this.setDatabase(this.database.value));
    const tools = h(
      "div",
      { class: "query-tools" },
      this.runButton,
      h("button", { type: "button", class: "button", title: "Explain (Alt+E)", onclick: () => void this.explain(false) }, icon("plan"), "Explain"),
      h("button", { type: "button", class: "button", title: "Explain analyze (Alt+A): runs the statement and measures it", onclick: () => void this.explain(true) }, "Analyze"),
      h("span", { class: "spring" }),
      this.database,
      this.limit,
      h("label", { class: "check", title: "The server refuses statements that change something" }, this.readOnly, "Read only"),
      iconButton("history", "History (Alt+H)", () => this.history()),
    );
    const work = h("div", { class: "work" }, h("div", { class: "tab-bar" }, this.bar, iconButton("plus", "New tab (Alt+T)", () => this.newTab())), tools, this.editorPlace, splitter(this.editorPlace), this.output);
    this.element = h("div", { class: "page query-page" }, h("aside", { class: "sidebar", "aria-label": "Schema" }, tree.element), work);
    catalog.changed.add(() => {
      // The first of the person's schemas, until one is chosen.
      const first = catalog.schemas[0];
      if (first && !SYSTEM.has(first) && this.tabs.length === 1 && this.active.database === "" && this.active.editor.text === "") this.setDatabase(first);
      else this.listDatabases();
    });
    this.restore();
  }

  enter(): void {
    if (matchMedia("(min-width: 700px)").matches) this.active.editor.focus();
  }

  /** F6: from the editor to the result, and back. */
  nextPart(): void {
    if (document.activeElement === this.active.editor.element) this.leaveEditor();
    else this.active.editor.focus();
  }

  private leaveEditor(): void {
    if (this.active.results) this.active.results.focus();
    else this.runButton.focus();
  }

  commands(): Command[] {
    const group = "Query";
    return [
      { group, title: "Run the statement at the cursor, or the selection", keys: "Ctrl+Enter", run: () => void this.run() },
      { group, title: "Run all statements of the tab, as one session", keys: "Ctrl+Shift+Enter", run: () => void this.runAll() },
      { group, title: "Cancel the running statement", keys: "Esc", run: () => this.cancel() },
      { group, title: "Explain the statement", keys: "Alt+E", run: () => void this.explain(false) },
      { group, title: "Analyze the statement: run it and measure its plan", keys: "Alt+A", run: () => void this.explain(true) },
      { group, title: "New tab", keys: "Alt+T", run: () => this.newTab() },
      { group, title: "Close the tab", keys: "Alt+W", run: () => this.closeTab(this.active) },
      { group, title: "Next tab", keys: "Alt+.", run: () => this.step(1) },
      { group, title: "Previous tab", keys: "Alt+,", run: () => this.step(-1) },
      { group, title: "Rename the tab", run: () => this.renameActive() },
      { group, title: "History", keys: "Alt+H", run: () => this.history() },
      { group, title: "Find and replace in the editor", keys: "Ctrl+F", run: () => this.active.editor.find() },
    ];
  }

  /** Opens a text in a new tab. */
  open(text: string, database: string, title?: string): void {
    this.newTab(text, database, title);
  }

  private restore(): void {
    const stored = store.loadTabs();
    for (const tab of stored.tabs.slice(0, 50)) this.tabs.push(this.makeTab(tab.text, tab.database, tab.title, tab.id));
    if (this.tabs.length === 0) this.tabs.push(this.makeTab("", "", "Query 1"));
    this.activate(this.tabs.find((tab) => tab.id === stored.active) ?? this.tabs[0]);
  }

  private makeTab(text: string, database: string, title: string, id = crypto.getRandomValues(new Uint32Array(2)).join("-")): Tab {
    const editor = new Editor(text, {
      database: () => tab.database,
      run: () => void this.run(),
      runAll: () => void this.runAll(),
      explain: (analyze) => void this.explain(analyze),
      changed: () => this.save(),
      leave: () => this.leaveEditor(),
    });
    const welcome = h("div", { class: "nothing" }, h("p", {}, "Results come here."), h("p", {}, h("kbd", {}, "Ctrl+Enter"), " runs the statement at the cursor, ", h("kbd", {}, "Ctrl+K"), " finds everything else, ", h("kbd", {}, "?"), " lists the keys."));
    const tab: Tab = { id, title, database, editor, output: h("div", { class: "output-of-tab" }, welcome) };
    return tab;
  }

  private newTab(text = "", database = this.active.database, title?: string): void {
    let number = this.tabs.length + 1;
    while (this.tabs.some((tab) => tab.title === `Query ${number}`)) number += 1;
    const tab = this.makeTab(text, database, title ?? `Query ${number}`);
    this.tabs.push(tab);
    this.activate(tab);
    tab.editor.focus();
  }

  private closeTab(tab: Tab): void {
    tab.running?.abort();
    tab.results?.close();
    const at = this.tabs.indexOf(tab);
    this.tabs.splice(at, 1);
    if (this.tabs.length === 0) this.tabs.push(this.makeTab("", tab.database, "Query 1"));
    this.activate(tab === this.active ? this.tabs[Math.min(at, this.tabs.length - 1)] : this.active);
    this.active.editor.focus();
  }

  private step(by: number): void {
    this.activate(this.tabs[(this.tabs.indexOf(this.active) + by + this.tabs.length) % this.tabs.length]);
    this.active.editor.focus();
  }

  private activate(tab: Tab): void {
    this.active = tab;
    fill(this.editorPlace, tab.editor.element);
    fill(this.output, tab.output);
    this.listDatabases();
    this.drawTabs();
    this.drawRun();
    this.save();
  }

  private drawTabs(): void {
    fill(
      this.bar,
      ...this.tabs.map((tab) => {
        const chosen = tab === this.active;
        const select = h("button", { type: "button", class: "tab-select", "aria-current": chosen ? "true" : undefined, tabindex: chosen ? 0 : -1, title: "Double-click to rename", onclick: () => this.activate(tab), ondblclick: () => this.rename(tab, item) }, tab.running ? h("span", { class: "spinner", "aria-label": "running" }) : null, tab.title);
        const item: HTMLElement = h("div", { class: chosen ? "tab active" : "tab" }, select, iconButton("close", `Close ${tab.title}`, () => this.closeTab(tab), { tabindex: chosen ? 0 : -1 }));
        return item;
      }),
    );
    this.bar.onkeydown = (event) => {
      const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
      if (by === 0 || !(event.target instanceof HTMLButtonElement)) return;
      this.activate(this.tabs[(this.tabs.indexOf(this.active) + by + this.tabs.length) % this.tabs.length]);
      this.bar.querySelector<HTMLElement>("[aria-current]")?.focus();
    };
  }

  private renameActive(): void {
    const item = this.bar.querySelector<HTMLElement>(".tab.active");
    if (item) this.rename(this.active, item);
  }

  private rename(tab: Tab, item: HTMLElement): void {
    const input = h("input", { class: "tab-name", value: tab.title, "aria-label": "Name of the tab", maxlength: 40 });
    const done = (): void => {
      tab.title = input.value.trim() || tab.title;
      this.drawTabs();
      this.save();
    };
    input.addEventListener("blur", done, { once: true });
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === "Escape") input.blur();
      event.stopPropagation();
    });
    fill(item, input);
    input.select();
    input.focus();
  }

  private save(): void {
    clearTimeout(this.saving);
    this.saving = window.setTimeout(() => {
      store.saveTabs(this.tabs.map(({ id, title, database, editor }) => ({ id, title, database, text: editor.text })), this.active.id);
    }, 300);
  }

  private listDatabases(): void {
    const names = catalog.schemas.includes(this.active.database) || this.active.database === "" ? catalog.schemas : [this.active.database, ...catalog.schemas];
    fill(this.database, h("option", { value: "", selected: this.active.database === "" }, "no schema"), ...names.map((name) => h("option", { value: name, selected: name === this.active.database }, name)));
  }

  private setDatabase(name: string): void {
    this.active.database = name;
    this.listDatabases();
    this.save();
    if (name) void catalog.tables(name).catch(() => undefined);
  }

  private insertTable(table: TableInfo): void {
    const schema = table.schema === this.active.database ? "" : plainName(table.schema) + ".";
    const name = /^[A-Za-z_$][\w$]*$/.test(table.name) ? table.name : quoteName(table.name);
    this.active.editor.add(`SELECT * FROM ${schema}${name} LIMIT 100`);
  }

  private history(): void {
    openHistory((sql) => this.active.editor.add(sql));
  }

  private drawRun(): void {
    const running = this.active.running !== undefined;
    this.runButton.classList.toggle("danger", running);
    this.runButton.title = running ? "Cancel (Esc)" : "Run the statement at the cursor, or the selection (Ctrl+Enter)";
    fill(this.runButton, icon(running ? "stop" : "play"), running ? "Cancel" : "Run");
  }

  private async toggleRun(): Promise<void> {
    if (this.active.running) this.cancel();
    else await this.run();
  }

  cancel(): void {
    this.active.running?.abort();
  }

  private async run(): Promise<void> {
    const chosen = this.active.editor.chosen();
    if (chosen) await this.execute(this.active, chosen, chosen.text);
  }

  private async runAll(): Promise<void> {
    const { text } = this.active.editor;
    if (text.trim() === "") return;
    // DELIMITER is a command of clients: the server does not know it.
    const sql = /^\s*delimiter\s/im.test(text) ? statements(text).map((one) => one.text).join(";\n") : text;
    await this.execute(this.active, { from: 0, to: text.length, text }, sql);
  }

  private async explain(analyze: boolean): Promise<void> {
    const tab = this.active;
    const chosen = tab.editor.chosen();
    if (!chosen) return;
    const already = /^\s*(explain|describe|desc)\b/i.test(chosen.text);
    await this.execute(tab, chosen, already ? chosen.text : `${analyze ? "EXPLAIN ANALYZE" : "EXPLAIN FORMAT=TREE"} ${chosen.text}`);
  }

  private async execute(tab: Tab, chosen: Chosen, sql: string): Promise<void> {
    if (tab.running) return;
    const controller = new AbortController();
    tab.running = controller;
    tab.editor.unmark();
    const started = performance.now();
    const wait = this.waiting(tab, started);
    this.drawTabs();
    this.drawRun();
    const maxRows = Number(this.limit.value);
    const options: api.Options = { database: tab.database || undefined, max_rows: maxRows, read_only: this.readOnly.checked || undefined, signal: controller.signal, progress: wait.progress };
    try {
      const answer = await this.send(sql, options);
      const ms = performance.now() - started;
      this.finish(tab, new Results({ sql, database: tab.database, maxRows, answer, ms }), sql);
      const rows = answer.results.reduce((sum, one) => sum + (one.rows?.length ?? one.affected_rows ?? 0), 0);
      store.remember({ sql: chosen.text, at: Date.now(), ms, rows, error: answer.error?.detail });
      if (answer.error) this.failed(tab, chosen, sql, answer.error, true);
    } catch (error) {
      const ms = performance.now() - started;
      const problem = error instanceof api.ServerError ? error : new api.ServerError({ title: "Error of the page", detail: String(error) });
      if (!problem.cancelled) store.remember({ sql: chosen.text, at: Date.now(), ms, rows: 0, error: problem.message });
      if (problem.cancelled) this.say(tab, h("div", { class: "nothing" }, `Cancelled after ${duration(ms)}.`), "Cancelled");
      else this.failed(tab, chosen, sql, problem.problem, false);
    } finally {
      wait.end();
      tab.running = undefined;
      this.drawTabs();
      this.drawRun();
    }
  }

  /** Sends a text. A statement whose plan has no tree is explained as JSON. */
  private async send(sql: string, options: api.Options): ReturnType<typeof api.run> {
    try {
      return await api.run(sql, options);
    } catch (error) {
      const tree = /^EXPLAIN FORMAT=TREE /;
      if (!(error instanceof api.ServerError) || error.problem.error_code !== 1235 || !tree.test(sql)) throw error;
      return api.run(sql.replace(tree, "EXPLAIN FORMAT=JSON "), options);
    }
  }

  private waiting(tab: Tab, started: number): { progress: (size: number) => void; end: () => void } {
    const time = h("span", { class: "wait-time" }, "0 ms");
    let size = 0;
    const shown = window.setTimeout(() => {
      tab.results?.close();
      tab.results = undefined;
      fill(tab.output, h("div", { class: "wait" }, h("span", { class: "spinner" }), time, h("button", { type: "button", class: "button", onclick: () => tab.running?.abort() }, "Cancel")));
    }, 150);
    const timer = window.setInterval(() => {
      time.textContent = duration(performance.now() - started) + (size > 0 ? `, ${bytes(size)}` : "");
    }, 100);
    return {
      progress: (now) => void (size = now),
      end: () => {
        clearTimeout(shown);
        clearInterval(timer);
      },
    };
  }

  private finish(tab: Tab, results: Results, sql: string): void {
    tab.results?.close();
    tab.results = results;
    const schema = schemaOfUse(sql);
    if (schema !== undefined) {
      tab.database = schema;
      if (tab === this.active) this.listDatabases();
      this.save();
    }
    const alone = OF_SESSION.test(sql) && !sql.includes(";");
    fill(tab.output, alone ? h("p", { class: "note" }, "Each run is a session of its own. Select the statements from BEGIN or SET to the last one and run them together.") : null, results.element);
    announce("Done");
    if (DEFINITION.test(sql) || /;\s*(create|alter|drop)\b/i.test(sql)) void catalog.refresh().catch(() => undefined);
  }

  private say(tab: Tab, element: HTMLElement, text: string): void {
    tab.results?.close();
    tab.results = undefined;
    fill(tab.output, element);
    announce(text);
  }

  private failed(tab: Tab, chosen: Chosen, sql: string, problem: Problem, keep: boolean): void {
    const message = problem.detail ?? problem.title ?? "The statement failed";
    const place = this.placeIn(chosen, sql, problem, message);
    tab.editor.mark(place, message);
    const title = problem.error_code ? `ERROR ${problem.error_code}${problem.sqlstate ? ` (${problem.sqlstate})` : ""}` : (problem.title ?? "Error");
    const line = place ? tab.editor.text.slice(0, place.from).split("\n").length : 0;
    const box = h(
      "div",
      { class: "failure", role: "alert" },
      h("div", { class: "failure-title" }, title, line > 0 ? h("button", { type: "button", class: "chip", onclick: () => tab.editor.focus() }, `line ${line}`) : null),
      h("pre", {}, message),
    );
    if (keep) tab.output.prepend(box);
    else this.say(tab, box, "Error");
  }

  /** The place of an error in the editor: as the server tells it, or else in the statement that failed, as its message tells it. */
  private placeIn(chosen: Chosen, sql: string, problem: Problem, message: string): Range | undefined {
    const added = sql.length - chosen.text.length;
    const moved = (place: Range | undefined, by: number): Range | undefined => place && { from: chosen.from + by + place.from, to: chosen.from + by + place.to };
    if (problem.position !== undefined && added >= 0 && problem.position >= added) return moved({ from: problem.position - added, to: problem.position - added + 1 }, 0);
    const failed = statements(chosen.text)[(problem.statement ?? 1) - 1];
    return (failed && moved(placeOf(failed.text, message), failed.from)) ?? moved(placeOf(chosen.text, message), 0);
  }
}
