/** What a run gave: table, chart, plan, messages and downloads. */

import type { Answer, Column, Result, Value } from "./answer";
import * as api from "./api";
import { Chart, choices, drawingOf, SERIES } from "./chart";
import { showText } from "./dialog";
import { copyText, download, fill, h, icon, iconButton } from "./dom";
import { readJson, readTree, type PlanNode } from "./explain";
import { count, csv, duration, json } from "./format";
import { Grid } from "./grid";
import { drawPlan } from "./plan";

type View = "table" | "chart" | "plan" | "messages";

export interface Run {
  sql: string;
  database: string;
  maxRows: number;
  answer: Answer;
  /** Milliseconds from sending to the last byte, by the page's clock. */
  ms: number;
}

const LABELS = { table: ["table", "Table"], chart: ["chart", "Chart"], plan: ["plan", "Plan"], messages: ["statements", "Messages"] } as const;

/** The plan in a result of EXPLAIN, if it is one that can be drawn. */
export function planOf(result: Result): PlanNode[] {
  const { columns, rows } = result;
  if (columns?.length !== 1 || columns[0].name.toUpperCase() !== "EXPLAIN" || !rows) return [];
  const first = rows[0]?.[0];
  if (typeof first === "object" && first !== null) return readJson(first);
  const text = rows.map((row) => String(row[0] ?? "")).join("\n");
  if (text.trimStart().startsWith("{")) {
    try {
      return readJson(JSON.parse(text));
    } catch {
      return [];
    }
  }
  return readTree(text);
}

/** One line about a statement without rows. */
export function summary(result: Result): string {
  if (result.columns && result.rows) return `${count(result.rows.length)} ${result.rows.length === 1 ? "row" : "rows"}${result.truncated ? " (more were not fetched)" : ""}`;
  const changed = result.affected_rows ?? 0;
  const id = result.insert_id && String(result.insert_id) !== "0" ? `, insert id ${result.insert_id}` : "";
  return `OK, ${count(changed)} ${changed === 1 ? "row" : "rows"} changed${id}${result.info ? ` · ${result.info}` : ""}`;
}

export class Results {
  readonly element: HTMLElement;
  private readonly bar: HTMLElement;
  private readonly stage: HTMLElement;
  private result: Result;
  private plan: PlanNode[] = [];
  private view: View = "table";
  private grid: Grid | undefined;
  private chart: Chart | undefined;
  private picked: { x: number; y: number[]; bars: boolean } | undefined;

  constructor(private readonly run: Run) {
    const { results } = run.answer;
    this.result = results.filter((one) => one.columns).pop() ?? results[results.length - 1] ?? {};
    this.bar = h("div", { class: "results-bar" });
    this.stage = h("div", { class: "results-stage" });
    this.element = h("div", { class: "results" }, this.bar, this.stage);
    this.choose(this.result);
  }

  close(): void {
    this.grid?.close();
    this.chart?.close();
    this.grid = undefined;
    this.chart = undefined;
  }

  private choose(result: Result): void {
    this.result = result;
    this.plan = planOf(result);
    this.picked = undefined;
    this.show(this.plan.length > 0 ? "plan" : result.columns ? "table" : "messages");
  }

  private get columns(): Column[] {
    return this.result.columns ?? [];
  }

  private get rows(): Value[][] {
    return this.result.rows ?? [];
  }

  private show(view: View): void {
    this.view = view;
    this.close();
    fill(this.bar, this.views(), this.pickResult(), this.facts(), this.tools());
    if (view === "table") this.showTable();
    else if (view === "chart") this.showChart();
    else if (view === "plan") fill(this.stage, drawPlan(this.plan));
    else fill(this.stage, this.messages());
  }

  private views(): HTMLElement {
    const usable: View[] = [];
    if (this.plan.length > 0) usable.push("plan");
    if (this.result.columns) usable.push("table", "chart");
    usable.push("messages");
    const tabs = usable.map((view) =>
      h(
        "button",
        { type: "button", role: "tab", class: "view-tab", "aria-selected": String(view === this.view), tabindex: view === this.view ? 0 : -1, onclick: () => this.show(view), "data-view": view },
        icon(LABELS[view][0]),
        LABELS[view][1],
      ),
    );
    const list = h("div", { class: "view-tabs", role: "tablist", "aria-label": "Views of the result" }, ...tabs);
    list.addEventListener("keydown", (event) => {
      const move = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
      if (move === 0) return;
      const next = usable[(usable.indexOf(this.view) + move + usable.length) % usable.length];
      this.show(next);
      this.bar.querySelector<HTMLElement>(`[data-view="${next}"]`)?.focus();
    });
    return list;
  }

  private pickResult(): HTMLElement | null {
    const { results } = this.run.answer;
    if (results.length < 2) return null;
    const select = h("select", { class: "select", "aria-label": "Result of the statement" }, ...results.map((one, i) => h("option", { value: i, selected: one === this.result }, `${i + 1} of ${results.length}: ${summary(one)}`)));
    select.addEventListener("change", () => this.choose(results[Number(select.value)]));
    return select;
  }

  private facts(): HTMLElement {
    const server = this.run.answer.elapsed_ms;
    const time = server === undefined ? duration(this.run.ms) : duration(server);
    const title = `${server === undefined ? "" : `${duration(server)} in the server, `}${duration(this.run.ms)} until the last byte`;
    return h(
      "span",
      { class: "results-facts" },
      h("span", { class: "results-summary" }, summary(this.result)),
      h("span", { title }, time),
      this.result.truncated ? h("span", { class: "chip warn" }, "truncated") : null,
      this.result.warnings?.length ? h("button", { type: "button", class: "chip warn", onclick: () => this.show("messages") }, `${this.result.warnings.length} warning${this.result.warnings.length === 1 ? "" : "s"}`) : null,
    );
  }

  private tools(): HTMLElement {
    if (!this.result.columns) return h("span", { class: "results-tools" });
    const menu = h("details", { class: "menu" }, h("summary", { class: "icon-button", title: "Download", "aria-label": "Download" }, icon("download")));
    const item = (text: string, action: () => void | Promise<void>): HTMLElement =>
      h("button", { type: "button", class: "menu-item", onclick: () => void (menu.removeAttribute("open"), action()) }, text);
    const whole = (name: string, type: string, ending: string): HTMLElement => item(name, () => this.fetchWhole(type, ending));
    menu.append(
      h(
        "div",
        { class: "menu-list" },
        h("p", {}, `${count(this.rows.length)} rows of the page`),
        item("CSV", () => download("result.csv", new Blob([csv(this.columns, this.rows)], { type: "text/csv" }))),
        item("JSON", () => download("result.json", new Blob([json(this.columns, this.rows)], { type: "application/json" }))),
        h("p", {}, "All rows (runs it again)"),
        whole("CSV, all rows", "text/csv", "csv"),
        whole("NDJSON, all rows", "application/x-ndjson", "ndjson"),
        whole("Arrow, all rows", "application/vnd.apache.arrow.stream", "arrows"),
        whole("Parquet, all rows", "application/vnd.apache.parquet", "parquet"),
      ),
    );
    menu.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && menu.open) {
        menu.open = false;
        menu.querySelector<HTMLElement>("summary")?.focus();
        event.stopPropagation();
      }
    });
    menu.addEventListener("focusout", (event) => {
      if (!menu.contains(event.relatedTarget as Node | null)) menu.open = false;
    });
    return h("span", { class: "results-tools" }, iconButton("copy", "Copy all as CSV", () => void this.copyAll()), menu);
  }

  private async copyAll(): Promise<void> {
    await copyText(csv(this.columns, this.rows));
  }

  private async fetchWhole(type: string, ending: string): Promise<void> {
    try {
      // It is read-only, so that a statement that changes rows cannot run twice.
      download(`result.${ending}`, await api.exported(this.run.sql, type, { database: this.run.database || undefined, read_only: true }));
    } catch (error) {
      showText("No download", error instanceof Error ? error.message : String(error));
    }
  }

  private showTable(): void {
    if (this.rows.length === 0) {
      fill(this.stage, h("p", { class: "nothing" }, `No rows. Columns: ${this.columns.map((column) => column.name).join(", ")}`));
      return;
    }
    this.grid = new Grid(this.columns, this.rows, "Result", showText);
    fill(this.stage, this.grid.element);
  }

  private showChart(): void {
    const possible = choices(this.columns, this.rows);
    if (possible.numeric.length === 0 || this.rows.length === 0) {
      fill(this.stage, h("p", { class: "nothing" }, "A chart needs a column with numbers."));
      return;
    }
    const picked = (this.picked ??= { x: possible.x, y: possible.y, bars: possible.bars });
    const again = (): void => this.show("chart");
    const x = h("select", { class: "select", "aria-label": "Column of the x axis" }, ...this.columns.map((column, i) => h("option", { value: i, selected: i === picked.x }, column.name)));
    x.addEventListener("change", () => {
      picked.x = Number(x.value);
      again();
    });
    const kind = (bars: boolean, name: string): HTMLElement =>
      h("button", { type: "button", class: "segment", "aria-pressed": String(picked.bars === bars), onclick: () => void ((picked.bars = bars), again()) }, name);
    const columns = possible.numeric.map((i) => {
      const box = h("input", { type: "checkbox", checked: picked.y.includes(i) });
      box.addEventListener("change", () => {
        picked.y = box.checked ? [...picked.y, i].slice(-SERIES) : picked.y.filter((one) => one !== i);
        again();
      });
      return h("label", { class: "check" }, box, this.columns[i].name);
    });
    const height = Math.max(180, Math.min(520, this.stage.clientHeight - (this.stage.clientWidth < 600 ? 128 : 84)));
    this.chart = new Chart(drawingOf(this.columns, this.rows, picked.x, picked.y, picked.bars, height));
    fill(
      this.stage,
      h(
        "div",
        { class: "chart-view" },
        h("div", { class: "chart-tools" }, h("span", { class: "segments", role: "group", "aria-label": "Kind of chart" }, kind(false, "Lines"), kind(true, "Bars")), h("label", { class: "check" }, "x", x), h("span", { class: "chart-columns", role: "group", "aria-label": "Columns with numbers" }, ...columns)),
        this.chart.element,
      ),
    );
  }

  private messages(): HTMLElement {
    const lines = this.run.answer.results.flatMap((result, i) => [
      h("li", {}, h("b", {}, `Statement ${i + 1}`), summary(result)),
      ...(result.warnings ?? []).map((warning) => h("li", { class: "warn" }, h("b", {}, `${warning.level} ${warning.code}`), warning.message)),
    ]);
    return h("ul", { class: "messages" }, ...lines);
  }

  /** Gives the focus to what is shown. */
  focus(): void {
    const target = this.stage.querySelector<HTMLElement>(".grid, [tabindex='0'], select") ?? this.bar.querySelector<HTMLElement>("button");
    target?.focus();
  }
}
