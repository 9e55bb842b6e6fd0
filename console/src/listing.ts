/** Plain tables of the pages about the server: a head, rows, and a line when there are none. */

import { fill, h, type Child } from "./dom";

export interface Head {
  name: string;
  className?: string;
  title?: string;
}

/** A table with a caption for screen readers. */
export function listing(caption: string, heads: readonly Head[], rows: readonly (readonly Child[])[], nothing: string): HTMLElement {
  if (rows.length === 0) return h("p", { class: "nothing" }, nothing);
  const head = h("tr", {}, ...heads.map((one) => h("th", { scope: "col", class: one.className, title: one.title }, one.name || h("span", { class: "sr-only" }, "Actions"))));
  const body = rows.map((row) => h("tr", {}, ...row.map((cell, i) => h("td", { class: heads[i]?.className, "data-head": heads[i]?.name }, cell))));
  return h("div", { class: "listing-box", tabindex: 0, role: "region", "aria-label": caption }, h("table", { class: "listing" }, h("caption", { class: "sr-only" }, caption), h("thead", {}, head), h("tbody", {}, ...body)));
}

/** Shows an error in the place of a page's content. */
export function problem(place: Element, error: unknown): void {
  fill(place, h("div", { class: "failure", role: "alert" }, h("pre", {}, error instanceof Error ? error.message : String(error))));
}

/** The head of a page. */
export function pageHead(title: string, about: string, ...tools: Child[]): HTMLElement {
  return h("header", { class: "page-head" }, h("h1", {}, title), h("p", { class: "muted" }, about), h("span", { class: "spring" }), ...tools);
}
