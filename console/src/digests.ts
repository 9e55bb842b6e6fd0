/** Slow statements by digest, with their plan. */

import type { Value } from "./answer";
import * as api from "./api";
import { openDialog } from "./dialog";
import { fill, h, iconButton } from "./dom";
import { brief, count, duration } from "./format";
import { listing, pageHead, problem } from "./listing";
import type { Page } from "./page";
import { drawPlan } from "./plan";
import { planOf } from "./results";

const ORDERS = { SUM_TIMER_WAIT: "Total time", AVG_TIMER_WAIT: "Average time", QUANTILE_95: "95th percentile", COUNT_STAR: "Count", SUM_ROWS_EXAMINED: "Rows examined", SUM_ERRORS: "Errors", LAST_SEEN: "Last seen" } as const;

interface Digest {
  text: string;
  schema: string;
  sample: string;
  numbers: number[];
  seen: string;
}

const ms = (picoseconds: Value): number => Number(picoseconds) / 1e9;
const text = (value: Value): string => (value === null ? "" : String(value));

export class DigestPage implements Page {
  readonly element: HTMLElement;
  private readonly content = h("div", { class: "page-content" });
  private readonly order = h("select", { class: "select", "aria-label": "Order" }, ...Object.entries(ORDERS).map(([column, name]) => h("option", { value: column }, name)));

  constructor(private readonly open: (sql: string, database: string) => void) {
    this.order.addEventListener("change", () => void this.read());
    this.element = h("div", { class: "page" }, pageHead("Statements", "By digest, since the server started", this.order, iconButton("refresh", "Read again", () => void this.read())), this.content);
  }

  enter(): void {
    void this.read();
  }

  private async read(): Promise<void> {
    const order = this.order.value in ORDERS ? this.order.value : "SUM_TIMER_WAIT";
    try {
      const rows = await api.table(
        `/* console */ SELECT DIGEST_TEXT, SCHEMA_NAME, QUERY_SAMPLE_TEXT, COUNT_STAR, SUM_TIMER_WAIT, AVG_TIMER_WAIT, QUANTILE_95, MAX_TIMER_WAIT, SUM_ROWS_EXAMINED, SUM_ROWS_SENT, SUM_ERRORS, LAST_SEEN FROM performance_schema.events_statements_summary_by_digest WHERE DIGEST_TEXT IS NOT NULL ORDER BY ${order} DESC LIMIT 100`,
      );
      this.draw(rows.map((row) => ({ text: text(row[0]), schema: text(row[1]), sample: text(row[2]), numbers: [Number(row[3]), ms(row[4]), ms(row[5]), ms(row[6]), ms(row[7]), Number(row[8]), Number(row[9]), Number(row[10])], seen: text(row[11]) })));
    } catch (error) {
      problem(this.content, error);
    }
  }

  private draw(digests: readonly Digest[]): void {
    const most = Math.max(1e-9, ...digests.map((one) => one.numbers[1]));
    const number = "number";
    fill(
      this.content,
      listing(
        "Statements by digest",
        [{ name: "Statement", className: "statement" }, { name: "Schema" }, { name: "Count", className: number }, { name: "Total", className: number }, { name: "Average", className: number }, { name: "p95", className: number, title: "95 % took no longer" }, { name: "Max", className: number }, { name: "Examined", className: number, title: "Rows examined" }, { name: "Sent", className: number, title: "Rows sent" }, { name: "Errors", className: number }, { name: "", className: "actions" }],
        digests.map((one) => {
          const [times, total, average, p95, max, examined, sent, errors] = one.numbers;
          const bar = h("i", { class: "share", "aria-hidden": "true" });
          bar.style.width = Math.max(1, (total / most) * 100) + "%";
          return [
            h("button", { type: "button", class: "statement-open", title: one.text.slice(0, 2000), onclick: () => this.details(one) }, h("code", {}, one.text.slice(0, 300))),
            one.schema,
            count(times),
            h("span", { class: "with-share" }, duration(total), bar),
            duration(average),
            duration(p95),
            duration(max),
            brief(examined),
            brief(sent),
            errors > 0 ? h("b", { class: "bad" }, count(errors)) : "0",
            h("button", { type: "button", class: "button small", "aria-label": `Plan of ${one.text.slice(0, 60)}`, onclick: () => this.details(one) }, "Plan"),
          ];
        }),
        "No statement has run.",
      ),
    );
  }

  private details(one: Digest): void {
    openDialog("Statement", "wide", (close) => {
      const place = h("div", { class: "digest-plan" }, h("p", { class: "muted" }, "Reading the plan …"));
      void this.plan(one, place);
      const open = h("button", { type: "button", class: "button", onclick: () => void (close(), this.open(one.sample || one.text, one.schema)) }, "Open in the editor");
      return [h("pre", { class: "value short", tabindex: 0 }, one.sample || one.text), place, h("div", { class: "dialog-foot" }, h("span", { class: "muted" }, `Last seen ${one.seen}`), h("span", { class: "spring" }), open)];
    });
  }

  private async plan(one: Digest, place: HTMLElement): Promise<void> {
    const sample = one.sample.replace(/^\s*explain\s+(analyze\s+)?(format\s*=\s*\w+\s+)?/i, "");
    if (!/^\s*(select|with|table|values|insert|update|delete|replace|\()/i.test(sample)) {
      fill(place, h("p", { class: "nothing" }, "Statements of this kind have no plan."));
      return;
    }
    const options = { database: one.schema || undefined, read_only: true };
    try {
      const result = await api.rows("EXPLAIN FORMAT=TREE " + sample, options).catch(() => api.rows("EXPLAIN FORMAT=JSON " + sample, options));
      fill(place, drawPlan(planOf(result)));
    } catch (error) {
      problem(place, error);
    }
  }
}
