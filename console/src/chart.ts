/** Charts: lines and bars of a result, and the small ones of the health page. */

import uPlot from "uplot";
import type { Column, Value } from "./answer";
import { fill, h } from "./dom";
import { brief, kindOf, textOf } from "./format";
import { secondsOf } from "./metrics";

/** Colours of series, from the style sheet, so that they follow light and dark. */
export const SERIES = 8;

function css(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export const seriesColour = (i: number): string => css(`--series-${(i % SERIES) + 1}`);

export interface Series {
  label: string;
  values: (number | null)[];
}

export interface Drawing {
  title: string;
  /** Seconds since 1970 if `time`, else numbers or places of names. */
  x: number[];
  names?: string[];
  time: boolean;
  series: Series[];
  bars: boolean;
  /** Fills the area below lines. */
  area?: boolean;
  unit?: (value: number) => string;
  /** Ticks at powers of two: for bytes. */
  binary?: boolean;
  /** A logarithmic axis of values, which are greater than 0. */
  log?: boolean;
  height: number;
}

const POWERS = Array.from({ length: 50 }, (_, i) => 2 ** i);

function axes(drawing: Drawing): uPlot.Axis[] {
  const look = { stroke: css("--muted"), grid: { stroke: css("--grid"), width: 1 }, ticks: { stroke: css("--grid"), width: 1, size: 4 }, font: `11px ${css("--sans")}` };
  const unit = drawing.unit ?? brief;
  const names = drawing.names;
  const x: uPlot.Axis = { ...look, grid: { show: false }, size: 26 };
  if (names) {
    x.values = (_, splits) => splits.map((at) => (Number.isInteger(at) ? (names[at] ?? "").slice(0, 14) : ""));
    x.splits = (plot) => {
      const most = Math.max(1, Math.floor(plot.width / 70));
      const step = Math.max(1, Math.ceil(names.length / most));
      return names.map((_, i) => i).filter((i) => i % step === 0);
    };
  } else if (!drawing.time) x.values = (_, splits) => splits.map((at) => brief(at));
  else x.values = [
    [86400, "{DD} {MMM}", null, null, null, null, null, null, 1],
    [3600, "{HH}:{mm}", null, null, null, null, null, null, 1],
    [60, "{HH}:{mm}", null, null, null, null, null, null, 1],
    [1, "{HH}:{mm}:{ss}", null, null, null, null, null, null, 1],
  ];
  return [x, { ...look, size: 58, incrs: drawing.binary ? POWERS : undefined, splits: drawing.log ? powersOfTen : undefined, values: (_, splits) => splits.map((at) => (at === null ? "" : unit(at))) }];
}

function options(drawing: Drawing, width: number, hover: (at: number | null) => void): uPlot.Options {
  const bars = uPlot.paths.bars;
  const few = drawing.x.length < 60;
  const count = drawing.series.length;
  return {
    width,
    height: drawing.height,
    legend: { show: false },
    cursor: { y: false, points: { size: 6 }, drag: { x: true, y: false } },
    scales: { x: { time: drawing.time, range: drawing.names || drawing.bars ? (_u, low, high) => [low - 0.6 * step(drawing.x), high + 0.6 * step(drawing.x)] : undefined }, y: drawing.log ? { distr: 3, range: (_u, low, high) => decades(low, high) } : { range: (_u, low, high) => spread(low ?? 0, high ?? 1) } },
    axes: axes(drawing),
    series: [
      {},
      ...drawing.series.map((one, i): uPlot.Series => {
        const colour = seriesColour(i);
        const base: uPlot.Series = { label: one.label, stroke: colour, width: 1.5, spanGaps: true, points: { show: few && !drawing.bars, size: 5, fill: colour } };
        if (drawing.bars && bars) return { ...base, fill: colour, width: 0, paths: bars(beside(drawing.x, i, count)), points: { show: false } };
        return drawing.area && i === 0 ? { ...base, fill: css("--series-soft") } : base;
      }),
    ],
    hooks: { setCursor: [(plot) => hover(plot.cursor.idx ?? null)] },
  };
}

/** Places of the bars of series `i` of `count`: side by side, 72 % of the room of a point together. */
function beside(x: readonly number[], i: number, count: number): object {
  const room = 0.72 * step(x);
  const width = room / count;
  return {
    size: [0.9, 60],
    disp: { x0: { unit: 1, values: () => x.map((at) => at - room / 2 + i * width) }, size: { unit: 1, values: () => [width] } },
  };
}

function step(x: readonly number[]): number {
  let least = Infinity;
  for (let i = 1; i < x.length; i += 1) if (x[i] > x[i - 1]) least = Math.min(least, x[i] - x[i - 1]);
  return Number.isFinite(least) ? least : 1;
}

/** Axes of values begin at 0 unless values are below it. */
function spread(low: number, high: number): [number, number] {
  if (low === high && high === 0) return [0, 1];
  return [Math.min(0, low * 1.05), high > 0 ? high * 1.08 : 0];
}

/** The places of lines and labels of a logarithmic axis: few, whatever its height. */
function powersOfTen(_plot: uPlot, _axis: number, low: number, high: number): number[] {
  const first = Math.round(Math.log10(low));
  const last = Math.round(Math.log10(high));
  const step = Math.max(1, Math.ceil((last - first) / 5));
  const places = [];
  for (let power = first; power <= last; power += step) places.push(10 ** power);
  return places;
}

/** Logarithmic axes go from a power of ten to another. */
function decades(low: number | null, high: number | null): [number, number] {
  const from = 10 ** Math.floor(Math.log10(low && low > 0 ? low : 0.01));
  return [from, 10 ** Math.max(Math.ceil(Math.log10(high && high > 0 ? high : 1)), Math.log10(from) + 1)];
}

/** A chart in an element that it fills in width. */
export class Chart {
  readonly element: HTMLElement;
  private readonly place: HTMLElement;
  private readonly legend: HTMLElement;
  private plot: uPlot | undefined;
  private readonly sizes: ResizeObserver;
  private readonly theme: () => void;

  constructor(private readonly drawing: Drawing) {
    this.place = h("div", { class: "chart-place", role: "img", "aria-label": summary(drawing) });
    this.legend = h("div", { class: "chart-legend" });
    this.element = h("div", { class: "chart" }, this.legend, this.place);
    this.sizes = new ResizeObserver(() => this.resize());
    this.sizes.observe(this.place);
    this.theme = () => this.draw();
    window.addEventListener("squall-theme", this.theme);
    this.tell(null);
  }

  close(): void {
    this.sizes.disconnect();
    window.removeEventListener("squall-theme", this.theme);
    this.plot?.destroy();
    this.plot = undefined;
  }

  private resize(): void {
    const width = this.place.clientWidth;
    if (width < 40) return;
    if (this.plot) this.plot.setSize({ width, height: this.drawing.height });
    else this.draw();
  }

  private draw(): void {
    const width = this.place.clientWidth;
    if (width < 40) return;
    this.plot?.destroy();
    const data = [this.drawing.x, ...this.drawing.series.map((one) => one.values)] as uPlot.AlignedData;
    this.plot = new uPlot(options(this.drawing, width, (at) => this.tell(at)), data, this.place);
    this.tell(null);
  }

  private tell(at: number | null): void {
    const { drawing } = this;
    const unit = drawing.unit ?? brief;
    const index = at ?? drawing.x.length - 1;
    const where = at === null || drawing.x.length === 0 ? "" : label(drawing, index);
    fill(
      this.legend,
      ...drawing.series.map((one, i) => {
        const value = one.values[index];
        return h("span", { class: `legend-item series-${(i % SERIES) + 1}` }, h("i", { "aria-hidden": "true" }), one.label, h("b", {}, value === null || value === undefined ? "–" : unit(value)));
      }),
      h("span", { class: "legend-x" }, where),
    );
  }
}

function label(drawing: Drawing, index: number): string {
  if (drawing.names) return drawing.names[index] ?? "";
  return drawing.time ? new Date(drawing.x[index] * 1000).toLocaleString() : String(drawing.x[index]);
}

function summary(drawing: Drawing): string {
  const unit = drawing.unit ?? brief;
  const parts = drawing.series.map((one) => {
    const values = one.values.filter((value): value is number => value !== null);
    return values.length === 0 ? `${one.label}: no values` : `${one.label}: ${unit(values.reduce((a, b) => Math.min(a, b)))} to ${unit(values.reduce((a, b) => Math.max(a, b)))}`;
  });
  return `${drawing.title}. ${drawing.bars ? "Bars" : "Lines"} of ${drawing.x.length} points. ${parts.join("; ")}`;
}

/** Most points that a chart draws. */
const MOST_POINTS = 20_000;

/** A number in a value, or null. */
export function numberOf(value: Value): number | null {
  if (value === null || value === "" || typeof value === "object") return null;
  const number = Number(value);
  return Number.isFinite(number) ? number : null;
}

/** Columns that a chart can have: for x all, for y those with numbers. */
export function choices(columns: readonly Column[], rows: readonly Value[][]): { x: number; y: number[]; numeric: number[]; bars: boolean } {
  const numeric = columns.flatMap((column, i) => (kindOf(column.type) === "number" || rows.slice(0, 20).every((row) => typeof row[i] === "number") ? [i] : []));
  const time = columns.findIndex((column) => kindOf(column.type) === "time");
  const name = columns.findIndex((_, i) => !numeric.includes(i));
  const x = time >= 0 ? time : name >= 0 ? name : 0;
  const y = numeric.filter((i) => i !== x).slice(0, 1);
  return { x, y: y.length > 0 ? y : numeric.slice(0, 1), numeric, bars: time < 0 && name >= 0 };
}

/** What a result looks like as a chart. */
export function drawingOf(columns: readonly Column[], rows: readonly Value[][], x: number, y: readonly number[], bars: boolean, height: number): Drawing {
  const kind = kindOf(columns[x].type);
  const used = rows.slice(0, MOST_POINTS);
  const time = kind === "time" && used.every((row) => row[x] === null || Number.isFinite(secondsOf(String(row[x]))));
  const place = (row: Value[], i: number): number | null => (time ? secondsOf(String(row[x])) : kind === "number" ? numberOf(row[x]) : i);
  const points = used.map((row, i) => ({ at: place(row, i), row })).filter((point): point is { at: number; row: Value[] } => point.at !== null && Number.isFinite(point.at));
  if (time || kind === "number") points.sort((a, b) => a.at - b.at);
  return {
    title: `${y.map((i) => columns[i].name).join(", ")} by ${columns[x].name}`,
    x: points.map((point) => point.at),
    names: time || kind === "number" ? undefined : points.map((point) => textOf(point.row[x], kind)),
    time,
    series: y.map((i) => ({ label: columns[i].name, values: points.map((point) => numberOf(point.row[i])) })),
    bars,
    height,
  };
}
