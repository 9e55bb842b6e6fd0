/** The page of the schema: the tree, and all about the table that was chosen. */

import * as api from "./api";
import { catalog, type TableInfo } from "./catalog";
import { copyText, fill, h } from "./dom";
import { bytes, count } from "./format";
import { listing, pageHead, problem } from "./listing";
import type { Page } from "./page";
import { plainName, quoteName } from "./split";
import { SchemaTree } from "./tree";

export class SchemaPage implements Page {
  readonly element: HTMLElement;
  private readonly details = h("section", { class: "schema-details", "aria-label": "Table" }, h("p", { class: "nothing" }, "Choose a table to see its columns, indexes and definition."));
  private chosen: TableInfo | undefined;

  constructor(private readonly open: (sql: string, database: string) => void) {
    const tree = new SchemaTree({ table: (table) => void this.show(table), schema: (name) => void this.showSchema(name) });
    this.element = h("div", { class: "page" }, pageHead("Schema", "Tables with their rows and sizes"), h("div", { class: "page-content schema-page" }, h("div", { class: "schema-tree" }, tree.element), this.details));
  }

  enter(): void {
    const first = catalog.schemas[0];
    if (!this.chosen && first) void this.showSchema(first);
  }

  private async showSchema(name: string): Promise<void> {
    this.chosen = undefined;
    try {
      const tables = await catalog.tables(name);
      const number = "number";
      const most = Math.max(1, ...tables.map((table) => table.dataBytes + table.indexBytes));
      fill(
        this.details,
        h("h2", {}, name),
        listing(
          `Tables of ${name}`,
          [{ name: "Table" }, { name: "Engine" }, { name: "Rows", className: number }, { name: "Data", className: number }, { name: "Indexes", className: number }, { name: "Size", className: number }],
          tables.map((table) => {
            const size = table.dataBytes + table.indexBytes;
            const bar = h("i", { class: "share", "aria-hidden": "true" });
            bar.style.width = (size / most) * 100 + "%";
            return [
              h("button", { type: "button", class: "link", onclick: () => void this.show(table) }, table.name),
              table.type === "BASE TABLE" ? table.engine : table.type.toLowerCase(),
              table.rows === null ? "–" : count(table.rows),
              bytes(table.dataBytes),
              bytes(table.indexBytes),
              h("span", { class: "with-share" }, bytes(size), bar),
            ];
          }),
          "This schema has no table.",
        ),
      );
    } catch (error) {
      problem(this.details, error);
    }
  }

  private async show(table: TableInfo): Promise<void> {
    this.chosen = table;
    const full = `${plainName(table.schema)}.${plainName(table.name)}`;
    try {
      const definition = api.table(`SHOW CREATE TABLE ${quoteName(table.schema)}.${quoteName(table.name)}`).then((rows) => String(rows[0]?.[1] ?? ""), (error: unknown) => (error instanceof Error ? error.message : ""));
      const [columns, indexes, ddl] = await Promise.all([catalog.columns(table.schema, table.name), catalog.indexes(table.schema, table.name), definition]);
      if (this.chosen !== table) return;
      fill(
        this.details,
        h("div", { class: "schema-title" }, h("h2", {}, table.name), h("span", { class: "chip" }, table.type === "BASE TABLE" ? table.engine : table.type.toLowerCase()), h("span", { class: "spring" }), h("button", { type: "button", class: "button", onclick: () => this.open(`SELECT * FROM ${full} LIMIT 100`, table.schema) }, "Query")),
        table.comment ? h("p", { class: "muted" }, table.comment) : null,
        h("dl", { class: "numbers" }, ...[["Rows", table.rows === null ? "–" : `~${count(table.rows)}`], ["Data", bytes(table.dataBytes)], ["Indexes", bytes(table.indexBytes)], ["Columns", count(columns.length)]].flatMap(([name, value]) => [h("div", {}, h("dt", {}, name), h("dd", {}, value))])),
        listing("Columns", [{ name: "Column" }, { name: "Type" }, { name: "Null" }, { name: "Key" }, { name: "Default" }, { name: "Extra" }], columns.map((one) => [h("code", {}, one.name), h("code", { class: "muted" }, one.type), one.nullable ? "yes" : "no", one.key, one.fallback, one.extra || one.comment]), "No columns are visible."),
        indexes.length > 0 ? listing("Indexes", [{ name: "Index" }, { name: "Columns" }, { name: "Unique" }, { name: "Kind" }], indexes.map((one) => [h("code", {}, one.name), one.columns, one.unique ? "yes" : "no", one.type]), "") : null,
        h("details", { class: "ddl" }, h("summary", {}, "Definition"), h("pre", { class: "value", tabindex: 0 }, ddl), h("button", { type: "button", class: "button small", onclick: () => void copyText(ddl) }, "Copy")),
      );
    } catch (error) {
      problem(this.details, error);
    }
  }
}
