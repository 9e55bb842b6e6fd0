/** Numbers, values and rows as texts. */

import type { Column, Value } from "./answer";

/** Bytes with a unit of 1024. */
export function bytes(n: number): string {
  if (!Number.isFinite(n)) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  let value = n;
  while (Math.abs(value) >= 1024 && i < units.length - 1) {
    value /= 1024;
    i += 1;
  }
  return `${i === 0 ? Math.round(value) : short(value)} ${units[i]}`;
}

function short(n: number): string {
  const size = Math.abs(n);
  return size >= 100 ? n.toFixed(0) : size >= 10 ? n.toFixed(1) : n.toFixed(2);
}

/** A length of time that is given in milliseconds. */
export function duration(ms: number): string {
  if (!Number.isFinite(ms)) return "–";
  if (ms === 0) return "0";
  if (ms < 0.001) return `${(ms * 1e6).toFixed(0)} ns`;
  if (ms < 1) return `${short(ms * 1000)} µs`;
  if (ms < 1000) return `${short(ms)} ms`;
  if (ms < 60_000) return `${short(ms / 1000)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
  return `${Math.floor(ms / 3_600_000)} h ${Math.round((ms % 3_600_000) / 60_000)} min`;
}

/** A whole number with separators. */
export function count(n: number): string {
  return Number.isFinite(n) ? Math.round(n).toLocaleString("en-US") : "–";
}

/** A number in few characters: 1.2k, 3.4M. */
export function brief(n: number): string {
  if (!Number.isFinite(n)) return "–";
  for (const [size, unit] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]] as const) {
    if (Math.abs(n) >= size) return short(n / size) + unit;
  }
  return Number.isInteger(n) ? String(n) : short(n);
}

/** What a column's type means for how its values look. */
export type Kind = "number" | "time" | "binary" | "json" | "text";

/** The kind of a type's name, as the server gives it. */
export function kindOf(type: string): Kind {
  if (/binary|blob|geometry|point|polygon|linestring|^bit|vector/i.test(type)) return "binary";
  if (/json/i.test(type)) return "json";
  if (/int|decimal|numeric|float|double|real|year|newdecimal/i.test(type)) return "number";
  if (/date|time/i.test(type)) return "time";
  return "text";
}

/** Base64 as hexadecimal digits, at most `most` bytes of it. */
export function hex(base64: string, most = Infinity): string {
  const part = Number.isFinite(most) ? base64.slice(0, Math.ceil(most / 3) * 4) : base64;
  let text = "";
  try {
    const raw = atob(part);
    for (let i = 0; i < raw.length && i < most; i += 1) text += raw.charCodeAt(i).toString(16).padStart(2, "0");
  } catch {
    return base64;
  }
  return text;
}

/** Bytes that a base64 text stands for. */
export function bytesOfBase64(text: string): number {
  const pad = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  return Math.max(0, (text.length / 4) * 3 - pad);
}

/** A value as text, whole. NULL is the word. */
export function textOf(value: Value, kind: Kind): string {
  if (value === null) return "NULL";
  if (typeof value === "object") return JSON.stringify(value);
  if (kind === "binary" && typeof value === "string") return "0x" + hex(value);
  return String(value);
}

/** A value for a cell of the table: cut, control characters visible. */
export function cellText(value: Value, kind: Kind): string {
  if (kind === "binary" && typeof value === "string") {
    const size = bytesOfBase64(value);
    return "0x" + hex(value, 24) + (size > 24 ? "…" : "");
  }
  const text = textOf(value, kind);
  const cut = text.length > 300 ? text.slice(0, 300) + "…" : text;
  return cut.replace(/\r?\n/g, "↵").replace(/\t/g, "⇥").replace(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, "�");
}

/** Rows as RFC 4180 CSV with a line of names; NULL is an empty field, an empty text is `""`. */
export function csv(columns: readonly Column[], rows: readonly Value[][]): string {
  const kinds = columns.map((column) => kindOf(column.type));
  const field = (text: string): string => (text === "" || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const lines = [columns.map((column) => field(column.name)).join(",")];
  for (const row of rows) lines.push(row.map((value, i) => (value === null ? "" : field(textOf(value, kinds[i])))).join(","));
  return lines.join("\r\n") + "\r\n";
}

/** Rows as a JSON array of objects. Columns of one name are told apart by a number. */
export function json(columns: readonly Column[], rows: readonly Value[][]): string {
  const seen = new Map<string, number>();
  const names = columns.map(({ name }) => {
    const times = (seen.get(name) ?? 0) + 1;
    seen.set(name, times);
    return times === 1 ? name : `${name}_${times}`;
  });
  const objects = rows.map((row) => "  " + JSON.stringify(Object.fromEntries(row.map((value, i) => [names[i], value]))));
  return `[\n${objects.join(",\n")}\n]\n`;
}
