/** The schema as a tree: schemas, their tables with rows and sizes, and the columns of those. */

import { catalog, SYSTEM, type TableInfo } from "./catalog";
import { fill, h, icon, iconButton } from "./dom";
import { brief, bytes, count } from "./format";

export interface TreeHandlers {
  /** A table was chosen, by click or Enter. */
  table: (table: TableInfo) => void;
  /** A column was chosen. */
  column?: (name: string) => void;
  schema?: (name: string) => void;
}

/** A branch: its line, and what is below once it was opened. */
interface Branch {
  level: number;
  label: string;
  note: string;
  noteTitle: string;
  className: string;
  tip: string;
  open?: () => Promise<Branch[]>;
  choose: () => void;
}

export class SchemaTree {
  readonly element: HTMLElement;
  private readonly list: HTMLElement;
  private readonly filter: HTMLInputElement;
  private readonly opened = new Set<string>();

  constructor(private readonly on: TreeHandlers) {
    this.list = h("div", { class: "tree", role: "tree", "aria-label": "Schemas, tables and columns" });
    this.filter = h("input", { type: "search", class: "input", placeholder: "Filter tables", "aria-label": "Filter tables" });
    this.filter.addEventListener("input", () => this.narrow());
    this.element = h("div", { class: "tree-box" }, h("div", { class: "tree-tools" }, this.filter, iconButton("refresh", "Read the schema again", () => void catalog.refresh())), this.list);
    this.list.addEventListener("keydown", (event) => this.key(event));
    catalog.changed.add(() => this.draw());
    if (catalog.schemas.length > 0) this.draw();
  }

  private draw(): void {
    const own = catalog.schemas.filter((name) => !SYSTEM.has(name));
    if (this.opened.size === 0) for (const name of own.slice(0, 1)) this.opened.add(name);
    fill(this.list, ...catalog.schemas.map((name) => this.branch(this.schema(name), name)));
    const first = this.list.querySelector<HTMLElement>(".tree-line");
    if (first) first.tabIndex = 0;
  }

  private schema(name: string): Branch {
    return {
      level: 1,
      label: name,
      note: "",
      noteTitle: "",
      className: SYSTEM.has(name) ? "schema system" : "schema",
      tip: name,
      choose: () => this.on.schema?.(name),
      open: async () => (await catalog.tables(name)).map((table) => this.table(table)),
    };
  }

  private table(table: TableInfo): Branch {
    const size = table.dataBytes + table.indexBytes;
    const virtual = table.rows === null || table.type !== "BASE TABLE";
    return {
      level: 2,
      label: table.name,
      note: virtual ? (table.type === "VIEW" ? "view" : "") : `${brief(table.rows ?? 0)} · ${bytes(size)}`,
      noteTitle: virtual ? "" : `about ${count(table.rows ?? 0)} rows, ${bytes(table.dataBytes)} of rows, ${bytes(table.indexBytes)} of indexes, ${table.engine}`,
      className: "table",
      tip: table.comment || table.name,
      choose: () => this.on.table(table),
      open: async () =>
        (await catalog.columns(table.schema, table.name)).map((column) => ({
          level: 3,
          label: column.name,
          note: column.type,
          noteTitle: `${column.type}${column.nullable ? "" : " NOT NULL"}`,
          className: column.key === "PRI" ? "column key" : "column",
          tip: column.comment || column.name,
          choose: () => this.on.column?.(column.name),
        })),
    };
  }

  private branch(one: Branch, path: string): HTMLElement {
    const group = h("div", { role: "group", class: "tree-group", hidden: true });
    const twist = one.open ? h("span", { class: "twist", "aria-hidden": "true" }, icon("right")) : h("span", { class: "twist" });
    const line = h(
      "div",
      { class: `tree-line ${one.className} level-${one.level}`, role: "treeitem", tabindex: -1, "aria-level": one.level, "aria-expanded": one.open ? "false" : undefined, title: one.tip, "data-label": one.label },
      twist,
      h("span", { class: "tree-label" }, one.label),
      h("span", { class: "tree-note", title: one.noteTitle }, one.note),
    );
    const toggle = async (open: boolean): Promise<void> => {
      line.setAttribute("aria-expanded", String(open));
      group.hidden = !open;
      if (open) this.opened.add(path);
      else this.opened.delete(path);
      if (!open || !one.open || group.childElementCount > 0) return;
      try {
        const below = await one.open();
        fill(group, ...below.map((child) => this.branch(child, `${path}\u0000${child.label}`)));
        if (below.length === 0) group.append(h("div", { class: "tree-empty" }, "empty"));
        this.narrow();
      } catch (error) {
        fill(group, h("div", { class: "tree-empty" }, error instanceof Error ? error.message : String(error)));
      }
    };
    if (one.open) {
      twist.addEventListener("click", (event) => {
        event.stopPropagation();
        void toggle(line.getAttribute("aria-expanded") !== "true");
      });
      line.addEventListener("squall-toggle", (event) => void toggle((event as CustomEvent<boolean>).detail));
    }
    line.addEventListener("click", () => {
      this.focus(line);
      one.choose();
      if (one.level === 1) void toggle(line.getAttribute("aria-expanded") !== "true");
    });
    if (this.opened.has(path)) void toggle(true);
    return h("div", { class: "tree-branch" }, line, one.open ? group : null);
  }

  private focus(line: HTMLElement): void {
    for (const other of this.list.querySelectorAll<HTMLElement>(".tree-line[tabindex='0']")) other.tabIndex = -1;
    line.tabIndex = 0;
    line.focus();
  }

  private key(event: KeyboardEvent): void {
    const line = event.target instanceof HTMLElement ? event.target.closest<HTMLElement>(".tree-line") : null;
    if (!line) return;
    const lines = [...this.list.querySelectorAll<HTMLElement>(".tree-line")].filter((one) => one.offsetParent !== null);
    const at = lines.indexOf(line);
    const open = line.getAttribute("aria-expanded");
    const toggle = (to: boolean): void => void line.dispatchEvent(new CustomEvent("squall-toggle", { detail: to }));
    const parent = (): HTMLElement | undefined => lines.slice(0, at).reverse().find((one) => Number(one.ariaLevel) < Number(line.ariaLevel));
    const go = (to: HTMLElement | undefined): void => void (to && this.focus(to));
    const actions: { [key: string]: () => void } = {
      ArrowDown: () => go(lines[at + 1]),
      ArrowUp: () => go(lines[at - 1]),
      ArrowRight: () => (open === "false" ? toggle(true) : go(lines[at + 1])),
      ArrowLeft: () => (open === "true" ? toggle(false) : go(parent())),
      Home: () => go(lines[0]),
      End: () => go(lines[lines.length - 1]),
      Enter: () => line.click(),
      " ": () => line.click(),
    };
    const action = actions[event.key];
    if (!action || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    action();
  }

  /** Shows the tables of opened schemas whose names have the filter's text. */
  private narrow(): void {
    const wanted = this.filter.value.trim().toLowerCase();
    for (const line of this.list.querySelectorAll<HTMLElement>(".tree-line.table")) {
      const branch = line.parentElement;
      if (branch) branch.hidden = wanted !== "" && !(line.dataset.label ?? "").toLowerCase().includes(wanted);
    }
  }
}
