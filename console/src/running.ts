/** The page of running statements, with KILL. */

import * as api from "./api";
import { confirmed } from "./dialog";
import { announce, fill, h } from "./dom";
import { duration } from "./format";
import { listing, pageHead, problem } from "./listing";
import type { Page } from "./page";

const EVERY = 2000;

export class RunningPage implements Page {
  readonly element: HTMLElement;
  private readonly content = h("div", { class: "page-content" });
  private readonly sleeping = h("input", { type: "checkbox" });
  private timer = 0;
  private reading = false;

  constructor() {
    this.sleeping.addEventListener("change", () => void this.read());
    this.element = h("div", { class: "page" }, pageHead("Running", `Connections and what they run, every ${EVERY / 1000} seconds`, h("label", { class: "check" }, this.sleeping, "Idle ones too")), this.content);
  }

  enter(): void {
    void this.read();
    this.timer = window.setInterval(() => {
      if (!document.hidden) void this.read();
    }, EVERY);
  }

  leave(): void {
    clearInterval(this.timer);
  }

  private async read(): Promise<void> {
    if (this.reading) return;
    this.reading = true;
    try {
      const found = await api.table("/* console */ SELECT ID, USER, HOST, DB, COMMAND, TIME, STATE, INFO FROM performance_schema.processlist ORDER BY TIME DESC, ID");
      const shown = found.filter((row) => !String(row[7] ?? "").startsWith("/* console */") && (this.sleeping.checked || row[4] !== "Sleep"));
      if (!this.content.contains(document.activeElement)) this.draw(shown);
      else if (!document.activeElement?.closest("td")) this.draw(shown);
    } catch (error) {
      problem(this.content, error);
    } finally {
      this.reading = false;
    }
  }

  private draw(rows: readonly (readonly unknown[])[]): void {
    const text = (value: unknown): string => (value === null || value === undefined ? "" : String(value));
    fill(
      this.content,
      listing(
        "Running statements",
        [{ name: "Id", className: "number" }, { name: "Account" }, { name: "Schema" }, { name: "Command" }, { name: "Time", className: "number" }, { name: "State" }, { name: "Statement", className: "statement" }, { name: "", className: "actions" }],
        rows.map((row) => {
          const id = text(row[0]);
          return [
            id,
            `${text(row[1])}@${text(row[2])}`,
            text(row[3]),
            text(row[4]),
            duration(Number(row[5]) * 1000),
            text(row[6]),
            h("code", { title: text(row[7]).slice(0, 4000) }, text(row[7]).slice(0, 400)),
            h(
              "span",
              { class: "row-actions" },
              row[7] === null ? null : h("button", { type: "button", class: "button small", "aria-label": `Kill the statement of connection ${id}`, onclick: () => void this.kill(id, true) }, "Kill query"),
              h("button", { type: "button", class: "button small danger", "aria-label": `Kill connection ${id}`, onclick: () => void this.kill(id, false) }, "Kill"),
            ),
          ];
        }),
        "Nothing runs.",
      ),
    );
  }

  private async kill(id: string, query: boolean): Promise<void> {
    if (!/^\d+$/.test(id)) return;
    if (!query && !(await confirmed("Kill connection", `Connection ${id} is closed and its transaction is rolled back.`, "Kill"))) return;
    try {
      await api.run(`KILL ${query ? "QUERY" : "CONNECTION"} ${id}`);
      announce(query ? "The statement was killed" : "The connection was killed");
      if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
      await this.read();
    } catch (error) {
      problem(this.content, error);
    }
  }
}
