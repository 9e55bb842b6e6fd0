/** The server's health over hours, from the copies of performance_schema that ps_history keeps. */

import type { Value } from "./answer";
import * as api from "./api";
import { Chart, SERIES, type Drawing } from "./chart";
import { fill, h, iconButton } from "./dom";
import { brief, bytes, duration } from "./format";
import { pageHead, problem } from "./listing";
import { percentile, rates, secondsOf, thin, type Histogram } from "./metrics";
import type { Page } from "./page";
import * as store from "./store";

const HOURS: [number, string][] = [[1, "1 hour"], [6, "6 hours"], [24, "1 day"], [168, "1 week"]];
const POINTS = 144;
const HEIGHT = 168;
const STATUS = ["Queries", "Threads_connected", "Threads_running", "Innodb_data_read", "Innodb_data_written", "Aborted_connects", "Slow_queries"] as const;

interface Moments {
  /** As SQL prints them, for questions about them. */
  texts: string[];
  seconds: number[];
}

const perSecond = (value: number): string => `${brief(value)}/s`;
const bytesPerSecond = (value: number): string => `${bytes(value)}/s`;

function list(moments: readonly string[]): string {
  return moments.map((text) => `'${text.replaceAll("'", "''")}'`).join(", ");
}

/** The moments that are drawn: evenly among all that there are. */
async function moments(hours: number): Promise<Moments> {
  const found = await api.table("/* console */ SELECT ts FROM ps_history.global_status WHERE VARIABLE_NAME = 'Queries' AND ts > NOW() - INTERVAL ? HOUR ORDER BY ts", { params: [hours] });
  const texts = thin(found.map((row) => String(row[0])), POINTS);
  return { texts, seconds: texts.map(secondsOf) };
}

/** Values by name, one for each moment. */
function byName(rows: readonly Value[][], when: Moments): Map<string, (number | null)[]> {
  const places = new Map(when.texts.map((text, i) => [text, i]));
  const series = new Map<string, (number | null)[]>();
  for (const [ts, name, value] of rows) {
    const place = places.get(String(ts));
    if (place === undefined) continue;
    const key = String(name);
    let values = series.get(key);
    if (!values) series.set(key, (values = new Array<number | null>(when.texts.length).fill(null)));
    values[place] = value === null ? null : Number(value);
  }
  return series;
}

/** The series with the greatest values, in that order. */
function greatest(series: Map<string, (number | null)[]>, most: number): [string, (number | null)[]][] {
  const sum = (values: (number | null)[]): number => values.reduce<number>((total, value) => total + (value ?? 0), 0);
  return [...series].filter(([, values]) => sum(values) > 0).sort((a, b) => sum(b[1]) - sum(a[1])).slice(0, most);
}

const drawing = (title: string, x: number[], series: Drawing["series"], unit: Drawing["unit"]): Drawing => ({ title, x, time: true, series, bars: false, binary: unit === bytes || unit === bytesPerSecond, area: series.length === 1, unit, height: HEIGHT });

async function status(when: Moments): Promise<Drawing[]> {
  const names = STATUS.map((name) => `'${name}'`).join(", ");
  const rows = await api.table(`/* console */ SELECT ts, VARIABLE_NAME, VARIABLE_VALUE FROM ps_history.global_status WHERE ts IN (${list(when.texts)}) AND VARIABLE_NAME IN (${names})`);
  const series = byName(rows, when);
  const rate = (name: string): (number | null)[] => rates(when.seconds, series.get(name) ?? []);
  const later = when.seconds.slice(1);
  return [
    drawing("Statements", later, [{ label: "statements", values: rate("Queries") }], perSecond),
    drawing("Connections", when.seconds, [{ label: "connected", values: series.get("Threads_connected") ?? [] }, { label: "running", values: series.get("Threads_running") ?? [] }], brief),
    drawing("Disk", later, [{ label: "read", values: rate("Innodb_data_read") }, { label: "written", values: rate("Innodb_data_written") }], bytesPerSecond),
  ];
}

async function latency(when: Moments): Promise<Drawing> {
  const some: Moments = { texts: thin(when.texts, 73), seconds: thin(when.seconds, 73) };
  const rows = await api.table(`/* console */ SELECT ts, BUCKET_NUMBER, BUCKET_TIMER_HIGH, COUNT_BUCKET FROM ps_history.events_statements_histogram_global WHERE ts IN (${list(some.texts)}) AND COUNT_BUCKET > 0`);
  const at = new Map<string, Histogram>(some.texts.map((text) => [text, new Map()]));
  for (const [ts, bucket, high, count] of rows) at.get(String(ts))?.set(Number(bucket), { high: Number(high), count: Number(count) });
  const histograms = some.texts.map((text) => at.get(text) ?? new Map());
  const line = (part: number): (number | null)[] => histograms.slice(1).map((now, i) => percentile(histograms[i], now, part));
  const lines = [{ label: "p50", values: line(0.5) }, { label: "p95", values: line(0.95) }, { label: "p99", values: line(0.99) }];
  return { ...drawing("Latency of statements", some.seconds.slice(1), lines, duration), log: true };
}

async function waits(when: Moments): Promise<Drawing> {
  const rows = await api.table(`/* console */ SELECT ts, EVENT_NAME, SUM_TIMER_WAIT FROM ps_history.events_waits_summary_global_by_event_name WHERE ts IN (${list(when.texts)}) AND COUNT_STAR > 0 AND EVENT_NAME <> 'idle'`);
  const shares = new Map([...byName(rows, when)].map(([name, values]) => [name, rates(when.seconds, values).map((value) => (value === null ? null : value / 1e9))]));
  const series = greatest(shares, 5).map(([name, values]) => ({ label: name.split("/").slice(-2).join("/"), values }));
  return drawing("Waits, per second of time", when.seconds.slice(1), series.length > 0 ? series : [{ label: "waits", values: when.seconds.slice(1).map(() => 0) }], duration);
}

async function memory(when: Moments): Promise<Drawing> {
  const rows = await api.table(`/* console */ SELECT ts, EVENT_NAME, CURRENT_NUMBER_OF_BYTES_USED FROM ps_history.memory_summary_global_by_event_name WHERE ts IN (${list(when.texts)}) AND CURRENT_NUMBER_OF_BYTES_USED > 0`);
  const series = greatest(byName(rows, when), Math.min(5, SERIES)).map(([name, values]) => ({ label: name.split("/").pop() ?? name, values }));
  return drawing("Memory", when.seconds, series, bytes);
}

export class HealthPage implements Page {
  readonly element: HTMLElement;
  private readonly content = h("div", { class: "page-content health", tabindex: 0, role: "region", "aria-label": "Charts" });
  private readonly hours = h("select", { class: "select", "aria-label": "Span of time" }, ...HOURS.map(([hours, name]) => h("option", { value: hours, selected: hours === store.preference("hours", 24) }, name)));
  private charts: Chart[] = [];
  private turn = 0;

  constructor() {
    this.hours.addEventListener("change", () => {
      store.setPreference("hours", Number(this.hours.value));
      void this.read();
    });
    this.element = h("div", { class: "page" }, pageHead("Health", "From ps_history", this.hours, iconButton("refresh", "Read again", () => void this.read())), this.content);
  }

  enter(): void {
    void this.read();
  }

  leave(): void {
    this.turn += 1;
    for (const chart of this.charts) chart.close();
    this.charts = [];
  }

  private async read(): Promise<void> {
    this.leave();
    const { turn } = this;
    fill(this.content, h("p", { class: "nothing" }, "Reading the history …"));
    try {
      const when = await moments(Number(this.hours.value));
      if (turn !== this.turn) return;
      if (when.texts.length < 3) {
        fill(this.content, h("p", { class: "nothing" }, "There are too few copies yet. ps_history takes one every ps_history_interval seconds while ps_history_enabled is ON."));
        return;
      }
      const tiles = ["Statements", "Latency", "Connections", "Waits", "Memory", "Disk"].map(() => h("section", { class: "tile" }, h("p", { class: "muted" }, "…")));
      fill(this.content, ...tiles);
      const place = (tile: HTMLElement, drawn: Drawing): void => {
        if (turn !== this.turn) return;
        const chart = new Chart(drawn);
        this.charts.push(chart);
        fill(tile, h("h2", {}, drawn.title), chart.element);
      };
      const show = async (at: number, work: Promise<Drawing>): Promise<void> => {
        try {
          place(tiles[at], await work);
        } catch (error) {
          problem(tiles[at], error);
        }
      };
      const all = status(when);
      const pick = (i: number): Promise<Drawing> => all.then((drawings) => drawings[i]);
      await Promise.all([show(0, pick(0)), show(2, pick(1)), show(5, pick(2)), show(1, latency(when)), show(3, waits(when)), show(4, memory(when))]);
    } catch (error) {
      if (turn === this.turn) problem(this.content, error);
    }
  }
}
