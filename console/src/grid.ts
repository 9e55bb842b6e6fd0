/** A table of results that draws only the cells in view. */

import type { Column, Value } from "./answer";
import { announce, copyText, fill, h } from "./dom";
import { cellText, count, csv, kindOf, textOf, type Kind } from "./format";
import { columnsInView, edges, rowsInView, scrollTo, toScroll, toTable } from "./window";

const ROW = 25;
const HEAD = 28;
const NARROWEST = 48;
const WIDEST = 420;
/** Browsers draw no taller elements than this. Taller tables move faster than their scroll bars. */
const TALLEST = 16_000_000;

/** Widths from the names and the first rows. */
function guessWidths(columns: readonly Column[], rows: readonly Value[][], kinds: readonly Kind[]): number[] {
  return columns.map((column, i) => {
    let longest = column.name.length + Math.min(12, column.type.length) * 0.8 + 1;
    for (let row = 0; row < Math.min(rows.length, 100); row += 1) longest = Math.max(longest, Math.min(60, cellText(rows[row][i] ?? null, kinds[i]).length));
    return Math.round(Math.min(WIDEST, Math.max(64, longest * 7.6 + 22)));
  });
}

export class Grid {
  readonly element: HTMLElement;
  private readonly body: HTMLElement;
  private readonly head: HTMLElement;
  private readonly space: HTMLElement;
  private readonly kinds: Kind[];
  private widths: number[];
  private lefts: number[];
  private numbers: number;
  private row = 0;
  private column = 0;
  private drawn = "";
  /** Pixels from a row's place in the table to its place in the element. */
  private shift = 0;
  private frame = 0;
  private live = new Map<number, HTMLElement>();
  private readonly sizes: ResizeObserver;

  constructor(
    private readonly columns: readonly Column[],
    private readonly rows: readonly Value[][],
    label: string,
    private readonly show: (title: string, text: string) => void,
  ) {
    this.kinds = columns.map((column) => kindOf(column.type));
    this.widths = guessWidths(columns, rows, this.kinds);
    this.lefts = edges(this.widths);
    this.numbers = Math.max(34, String(rows.length).length * 8 + 16);
    this.head = h("div", { class: "grid-head", role: "row", "aria-rowindex": 1 });
    this.space = h("div", { class: "grid-space", role: "rowgroup" });
    this.body = h("div", { class: "grid-body" }, h("div", { class: "grid-headroom", role: "rowgroup" }, this.head), this.space);
    this.element = h(
      "div",
      {
        class: "grid",
        role: "grid",
        tabindex: 0,
        "aria-label": `${label}: ${count(rows.length)} rows, ${columns.length} columns. Arrow keys move, Enter shows a value, Ctrl+C copies it.`,
        "aria-rowcount": rows.length + 1,
        "aria-colcount": columns.length,
        onkeydown: (event: KeyboardEvent) => this.key(event),
        oncopy: (event: ClipboardEvent) => this.copying(event),
      },
      this.body,
    );
    this.body.addEventListener("scroll", () => this.later(), { passive: true });
    this.space.addEventListener("mousedown", (event) => this.pressed(event));
    this.space.addEventListener("dblclick", () => this.open());
    this.sizes = new ResizeObserver(() => this.later());
    this.sizes.observe(this.body);
    this.measure();
  }

  /** Ends what goes on beside the element. */
  close(): void {
    this.sizes.disconnect();
    cancelAnimationFrame(this.frame);
  }

  private measure(): void {
    this.lefts = edges(this.widths);
    const width = this.numbers + this.lefts[this.lefts.length - 1];
    this.space.style.height = Math.min(TALLEST, this.rows.length * ROW) + "px";
    this.space.style.width = width + "px";
    this.head.style.width = width + "px";
    this.drawn = "";
    this.later();
  }

  private later(): void {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  private draw(): void {
    const { scrollTop, scrollLeft, clientHeight, clientWidth } = this.body;
    const view = clientHeight - HEAD;
    const top = toTable(scrollTop, view, this.rows.length * ROW, TALLEST);
    const rows = rowsInView(top, view, ROW, this.rows.length, 12);
    this.moveTo(scrollTop - top);
    const columns = columnsInView(scrollLeft - 200, clientWidth + 400, this.lefts);
    const across = `${columns.first}:${columns.end}`;
    if (across !== this.drawn) {
      this.drawn = across;
      this.live.clear();
      this.space.replaceChildren();
      this.drawHead(columns.first, columns.end);
    }
    for (const [index, element] of this.live) {
      if (index < rows.first || index >= rows.end) {
        element.remove();
        this.live.delete(index);
      }
    }
    const fresh = document.createDocumentFragment();
    for (let index = rows.first; index < rows.end; index += 1) {
      if (this.live.has(index)) continue;
      const element = this.makeRow(index, columns.first, columns.end);
      this.live.set(index, element);
      fresh.appendChild(element);
    }
    this.space.appendChild(fresh);
    this.mark();
  }

  private moveTo(shift: number): void {
    if (shift === this.shift) return;
    this.shift = shift;
    for (const [index, element] of this.live) element.style.transform = `translateY(${index * ROW + shift}px)`;
  }

  private drawHead(first: number, end: number): void {
    const cells: HTMLElement[] = [h("div", { class: "grid-number", "aria-hidden": "true" })];
    cells[0].style.width = this.numbers + "px";
    for (let i = first; i < end; i += 1) {
      const column = this.columns[i];
      const cell = h(
        "div",
        { class: `grid-name ${this.kinds[i]}`, role: "columnheader", "aria-colindex": i + 1, title: `${column.name} · ${column.sql_type ?? column.type}${column.nullable === false ? " · NOT NULL" : ""}` },
        h("span", { class: "name" }, column.name),
        h("span", { class: "type" }, column.type.toLowerCase()),
        h("span", { class: "grip", "aria-hidden": "true", onpointerdown: (event: PointerEvent) => this.drag(event, i), ondblclick: () => this.fit(i) }),
      );
      cell.style.left = this.numbers + this.lefts[i] + "px";
      cell.style.width = this.widths[i] + "px";
      cells.push(cell);
    }
    fill(this.head, ...cells);
  }

  private makeRow(index: number, first: number, end: number): HTMLElement {
    const number = h("div", { class: "grid-number", "aria-hidden": "true" }, index + 1);
    number.style.width = this.numbers + "px";
    const row = h("div", { class: index % 2 ? "grid-row odd" : "grid-row", role: "row", "aria-rowindex": index + 2 }, number);
    row.style.transform = `translateY(${index * ROW + this.shift}px)`;
    const values = this.rows[index];
    for (let i = first; i < end; i += 1) {
      const value = values[i] ?? null;
      const kind = this.kinds[i];
      const cell = h("div", { class: `grid-cell ${value === null ? "null" : kind}`, role: "gridcell", "aria-colindex": i + 1, id: `cell-${index}-${i}` });
      cell.textContent = cellText(value, kind);
      if (value === "") cell.classList.add("empty");
      cell.style.left = this.numbers + this.lefts[i] + "px";
      cell.style.width = this.widths[i] + "px";
      cell.dataset.row = String(index);
      cell.dataset.column = String(i);
      row.appendChild(cell);
    }
    return row;
  }

  private mark(): void {
    this.space.querySelector(".chosen")?.classList.remove("chosen");
    this.space.querySelector(".chosen-row")?.classList.remove("chosen-row");
    const cell = this.space.querySelector(`[data-row="${this.row}"][data-column="${this.column}"]`);
    cell?.classList.add("chosen");
    cell?.parentElement?.classList.add("chosen-row");
    if (cell) this.element.setAttribute("aria-activedescendant", cell.id);
    else this.element.removeAttribute("aria-activedescendant");
  }

  private pressed(event: MouseEvent): void {
    const cell = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-row]") : null;
    if (cell) this.go(Number(cell.dataset.row), Number(cell.dataset.column));
  }

  private go(row: number, column: number): void {
    if (this.rows.length === 0) return;
    this.row = Math.max(0, Math.min(this.rows.length - 1, row));
    this.column = Math.max(0, Math.min(this.columns.length - 1, column));
    const { body } = this;
    const view = body.clientHeight - HEAD;
    const total = this.rows.length * ROW;
    const top = toTable(body.scrollTop, view, total, TALLEST);
    const wanted = scrollTo(top, view, this.row * ROW, (this.row + 1) * ROW);
    if (wanted !== top) body.scrollTop = toScroll(wanted, view, total, TALLEST);
    body.scrollLeft = scrollTo(body.scrollLeft, body.clientWidth - this.numbers, this.lefts[this.column], this.lefts[this.column + 1]);
    this.draw();
  }

  private key(event: KeyboardEvent): void {
    const page = Math.max(1, Math.floor((this.body.clientHeight - HEAD) / ROW) - 1);
    const ctrl = event.ctrlKey || event.metaKey;
    if (event.altKey && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
      this.resize(this.column, this.widths[this.column] + (event.key === "ArrowLeft" ? -16 : 16));
      event.preventDefault();
      return;
    }
    const moves: { [key: string]: () => void } = {
      ArrowDown: () => this.go(ctrl ? this.rows.length - 1 : this.row + 1, this.column),
      ArrowUp: () => this.go(ctrl ? 0 : this.row - 1, this.column),
      ArrowRight: () => this.go(this.row, this.column + 1),
      ArrowLeft: () => this.go(this.row, this.column - 1),
      PageDown: () => this.go(this.row + page, this.column),
      PageUp: () => this.go(this.row - page, this.column),
      Home: () => this.go(ctrl ? 0 : this.row, 0),
      End: () => this.go(ctrl ? this.rows.length - 1 : this.row, this.columns.length - 1),
      Enter: () => this.open(),
    };
    if (ctrl && event.key.toLowerCase() === "c" && (event.shiftKey || !String(getSelection() ?? ""))) {
      void (event.shiftKey ? this.copyRow() : this.copyCell());
      event.preventDefault();
      return;
    }
    const move = moves[event.key];
    if (!move || event.altKey) return;
    move();
    event.preventDefault();
  }

  private copying(event: ClipboardEvent): void {
    if (String(getSelection() ?? "") || !this.rows[this.row]) return;
    event.clipboardData?.setData("text/plain", this.value());
    event.preventDefault();
  }

  private value(): string {
    return textOf(this.rows[this.row]?.[this.column] ?? null, this.kinds[this.column]);
  }

  async copyCell(): Promise<void> {
    if (this.rows[this.row]) await copyText(this.value());
  }

  /** The row at the cursor as texts with tabs between them. */
  async copyRow(): Promise<void> {
    const row = this.rows[this.row];
    if (row) await copyText(row.map((value, i) => textOf(value, this.kinds[i]).replace(/[\t\n\r]/g, " ")).join("\t"));
  }

  async copyAll(): Promise<void> {
    await copyText(csv(this.columns, this.rows));
  }

  private open(): void {
    const value = this.rows[this.row]?.[this.column];
    if (value === undefined) return;
    const text = typeof value === "object" && value !== null ? JSON.stringify(value, null, 2) : this.value();
    this.show(`${this.columns[this.column].name}, row ${count(this.row + 1)}`, text);
  }

  private drag(event: PointerEvent, column: number): void {
    event.preventDefault();
    const grip = event.currentTarget as HTMLElement;
    const start = event.clientX - this.widths[column];
    grip.setPointerCapture(event.pointerId);
    let x = event.clientX;
    const move = (moved: PointerEvent): void => {
      x = moved.clientX;
      const cell = grip.parentElement;
      if (cell) cell.style.width = Math.max(NARROWEST, x - start) + "px";
    };
    const up = (): void => {
      grip.removeEventListener("pointermove", move);
      this.resize(column, x - start);
    };
    grip.addEventListener("pointermove", move);
    grip.addEventListener("pointerup", up, { once: true });
    grip.addEventListener("pointercancel", up, { once: true });
  }

  private resize(column: number, width: number): void {
    this.widths[column] = Math.max(NARROWEST, Math.min(2000, Math.round(width)));
    this.measure();
    announce(`Column ${this.columns[column].name}: ${this.widths[column]} pixels`);
  }

  private fit(column: number): void {
    let longest = this.columns[column].name.length + this.columns[column].type.length;
    for (const index of this.live.keys()) longest = Math.max(longest, cellText(this.rows[index][column] ?? null, this.kinds[column]).length);
    this.resize(column, longest * 7.6 + 24);
  }
}
