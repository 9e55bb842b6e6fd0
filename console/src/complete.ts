/** Completion from the live catalog: what a name may be follows from the names before it and from the tables of the statement. */

import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { catalog } from "./catalog";
import { plainName, statementAt } from "./split";

/** A table that a statement names, and the name it has there. */
export interface Named {
  schema: string;
  table: string;
  alias: string;
}

const NAME = "(?:`(?:[^`]|``)+`|[\\w$\\u0080-\\uffff]+)";
const TABLES = new RegExp(`\\b(?:from|join|update|into|table|describe|desc)\\s+((?:${NAME}\\s*\\.\\s*)?${NAME})(?:\\s+(?:as\\s+)?(${NAME}))?`, "gi");
const MORE = new RegExp(`,\\s*((?:${NAME}\\s*\\.\\s*)?${NAME})(?:\\s+(?:as\\s+)?(${NAME}))?`, "gi");
const NO_ALIAS = /^(on|where|set|group|order|limit|join|inner|left|right|cross|natural|using|values|select|having|union|straight_join|add|drop|modify)$/i;

const bare = (name: string): string => (name.startsWith("`") ? name.slice(1, -1).replaceAll("``", "`") : name);

function named(full: string, alias: string | undefined, database: string): Named {
  const dot = /^(`(?:[^`]|``)+`|[^.\s]+)\s*\.\s*(.+)$/.exec(full);
  const schema = dot ? bare(dot[1]) : database;
  const table = bare(dot ? dot[2] : full);
  return { schema, table, alias: alias && !NO_ALIAS.test(alias) ? bare(alias) : table };
}

/** The tables that a statement names after FROM, JOIN, UPDATE and their like. */
export function tablesOf(sql: string, database: string): Named[] {
  const found: Named[] = [];
  for (const match of sql.matchAll(TABLES)) {
    found.push(named(match[1], match[2], database));
    const rest = sql.slice(match.index + match[0].length).split(/\b(?:where|group|order|limit|join|having|set|on|union)\b|[();]/i)[0];
    if (rest.trimStart().startsWith(",")) for (const more of rest.matchAll(MORE)) found.push(named(more[1], more[2], database));
  }
  return found;
}

/** Whether a table's name is what the text before the cursor asks for. */
export function wantsTable(before: string): boolean {
  return /\b(?:from|join|update|into|table|describe|desc|truncate|references)\s+(?:[\w`$.]+(?:\s+(?:as\s+)?\w+)?\s*,\s*)*[\w`$]*$/i.test(before);
}

const option = (label: string, type: string, detail: string | undefined, boost: number): Completion => ({ label, apply: plainName(label), type, detail, boost });

async function soon<T>(promise: Promise<T>, otherwise: T): Promise<T> {
  return Promise.race([promise.catch(() => otherwise), new Promise<T>((done) => setTimeout(() => done(otherwise), 2000))]);
}

async function columnsOf(one: Named, boost: number): Promise<Completion[]> {
  const columns = await soon(catalog.columns(one.schema, one.table), []);
  return columns.map((column) => option(column.name, "property", `${column.type} · ${one.alias}`, boost));
}

async function behindDot(owner: string, tables: Named[]): Promise<Completion[]> {
  const options: Completion[] = [];
  for (const one of tables.filter((table) => table.alias.toLowerCase() === owner.toLowerCase())) options.push(...(await columnsOf(one, 3)));
  if (catalog.schemas.includes(owner)) {
    for (const table of await soon(catalog.tables(owner), [])) options.push(option(table.name, "class", table.type === "VIEW" ? "view" : "table", 2));
  }
  return options;
}

function unique(options: Completion[]): Completion[] {
  const seen = new Set<string>();
  return options.filter((one) => {
    const key = `${one.type}:${one.label}:${one.detail ?? ""}`;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

/** CodeMirror's source of completions for a tab whose schema is `database()`. */
export function source(database: () => string): (context: CompletionContext) => Promise<CompletionResult | null> {
  return async (context) => {
    const whole = context.state.doc.toString();
    const statement = statementAt(whole, context.pos);
    const sql = statement?.text ?? "";
    const before = statement && context.pos >= statement.from ? whole.slice(statement.from, context.pos) : "";
    const word = context.matchBefore(/[\w$\u0080-\uffff]*/);
    const from = word?.from ?? context.pos;
    const tables = tablesOf(sql, database());
    const dot = /(?:`((?:[^`]|``)+)`|([\w$\u0080-\uffff]+))\s*\.\s*$/.exec(whole.slice(Math.max(0, from - 200), from));
    if (dot) return { from, options: unique(await behindDot(dot[1] ?? dot[2], tables)), validFor: /^[\w$]*$/ };
    if (from === context.pos && !context.explicit && !wantsTable(before)) return null;
    if (/['"]$/.test(whole.slice(0, from)) || /^\d/.test(word?.text ?? "")) return null;
    const options: Completion[] = [];
    const table = wantsTable(before);
    const own = database() ? await soon(catalog.tables(database()), []) : [];
    for (const one of own) options.push(option(one.name, "class", one.type === "VIEW" ? "view" : "table", table ? 9 : 1));
    for (const schema of catalog.schemas) options.push(option(schema, "namespace", "schema", table ? 5 : 0));
    if (!table) {
      for (const one of tables) options.push(...(await columnsOf(one, 6)));
      for (const one of tables) if (one.alias !== one.table) options.push(option(one.alias, "variable", one.table, 4));
      for (const name of catalog.functions) {
        const short = name.includes(".") ? name : name.toUpperCase();
        options.push({ label: short, apply: short + "(", type: "function", boost: -1 });
      }
    }
    for (const keyword of catalog.keywords) options.push({ label: keyword, type: "keyword", boost: table ? -9 : -2 });
    return { from, options: unique(options), validFor: /^[\w$]*$/ };
  };
}
