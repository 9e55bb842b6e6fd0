/** The JSON box: documents of `/json`, with the fields of the original page. */

import * as api from "./api";
import { fill, h } from "./dom";
import { pageHead, problem } from "./listing";
import type { Page } from "./page";
import * as store from "./store";

const EXAMPLE = '{"query": {"_id": 1, "document": {"name": "Ada", "age": 36}}}';

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** The path of a request. GET and DELETE carry their query in it. */
export function pathOf(method: string, schema: string, table: string, id: string, query: string): string {
  const parameters = new URLSearchParams();
  if (schema) parameters.set("schema", schema);
  if (table) parameters.set("table", table);
  if (id) parameters.set("_id", id);
  if (method !== "POST" && query.trim() !== "") parameters.set("query", query);
  const all = parameters.toString();
  return "/json" + (all ? "?" + all : "");
}

export class DocumentPage implements Page {
  readonly element: HTMLElement;
  private readonly method = h("select", { class: "select", id: "document-method" }, ...["GET", "POST", "DELETE"].map((name) => h("option", { value: name }, name)));
  private readonly schema = h("input", { class: "input", id: "document-schema", autocomplete: "off", spellcheck: "false" });
  private readonly table = h("input", { class: "input", id: "document-table", autocomplete: "off", spellcheck: "false" });
  private readonly id = h("input", { class: "input", id: "document-id", autocomplete: "off", placeholder: "any" });
  private readonly body = h("textarea", { class: "input area", id: "document-body", rows: 10, spellcheck: "false", placeholder: EXAMPLE });
  private readonly answer = h("section", { class: "document-answer", "aria-label": "Answer", "aria-live": "polite" }, h("p", { class: "muted" }, "The answer comes here."));

  constructor() {
    this.schema.value = store.preference("document.schema", "test");
    this.table.value = store.preference("document.table", "");
    const field = (label: string, input: HTMLElement): HTMLElement => h("label", { class: "field" }, h("span", {}, label), input);
    const form = h(
      "form",
      { class: "document-form", onsubmit: (event: Event) => void (event.preventDefault(), void this.send()) },
      h("div", { class: "fields" }, field("Method", this.method), field("Schema", this.schema), field("Table", this.table), field("_id", this.id)),
      field("Document (POST) or query (GET, DELETE)", this.body),
      h("div", { class: "form-foot" }, h("button", { type: "submit", class: "button primary" }, "Send"), h("span", { class: "muted" }, "Ctrl+Enter sends")),
    );
    form.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    });
    this.element = h("div", { class: "page" }, pageHead("Documents", "JSON documents in tables, by /json"), h("div", { class: "page-content document-page" }, form, this.answer));
  }

  private async send(): Promise<void> {
    const method = this.method.value;
    store.setPreference("document.schema", this.schema.value);
    store.setPreference("document.table", this.table.value);
    const path = pathOf(method, this.schema.value, this.table.value, this.id.value.trim(), this.body.value);
    try {
      const { status, text } = await api.json(method, path, method === "POST" ? this.body.value : undefined);
      fill(this.answer, h("div", { class: "document-line" }, h("span", { class: status < 400 ? "chip good" : "chip warn" }, status), h("code", {}, `${method} ${path}`)), h("pre", { class: "value", tabindex: 0 }, pretty(text)));
    } catch (error) {
      problem(this.answer, error);
    }
  }
}
