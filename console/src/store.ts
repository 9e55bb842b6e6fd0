/** What the page keeps in the browser: texts of tabs, history, looks. No password and no token is kept. */

import { hasSecret, statements } from "./split";

export interface StoredTab {
  id: string;
  title: string;
  text: string;
  database: string;
}

export interface Past {
  sql: string;
  at: number;
  ms: number;
  rows: number;
  error?: string;
}

const PREFIX = "squall.";
/** Whose tabs and history are meant: each account has its own. */
let owner = "";

export function setOwner(account: string): void {
  owner = account;
}

const MOST_HISTORY = 300;
const MOST_TEXT = 200_000;

function get<T>(key: string, otherwise: T): T {
  try {
    const text = localStorage.getItem(PREFIX + key);
    return text === null ? otherwise : (JSON.parse(text) as T);
  } catch {
    return otherwise;
  }
}

function set(key: string, value: unknown): void {
  try {
    localStorage.setItem(PREFIX + key, JSON.stringify(value));
  } catch {
    // The browser's store is full or off: the page works on without it.
  }
}

/** A text without the statements that may hold a password. */
export function withoutSecrets(text: string): string {
  if (!hasSecret(text)) return text;
  let out = "";
  let at = 0;
  for (const one of statements(text)) {
    out += text.slice(at, one.from);
    out += hasSecret(one.text) ? "-- a statement with a password is not kept" : one.text;
    at = one.to;
  }
  return hasSecret(out + text.slice(at)) ? "" : out + text.slice(at);
}

export const loadTabs = (): { tabs: StoredTab[]; active: string } => {
  const stored = get<{ tabs: StoredTab[]; active: string }>(`tabs.${owner}`, { tabs: [], active: "" });
  const tabs = Array.isArray(stored.tabs) ? stored.tabs.filter((tab) => tab && typeof tab.text === "string" && typeof tab.id === "string") : [];
  return { tabs, active: stored.active };
};

export function saveTabs(tabs: readonly StoredTab[], active: string): void {
  set(`tabs.${owner}`, { active, tabs: tabs.map((tab) => ({ ...tab, text: withoutSecrets(tab.text.slice(0, MOST_TEXT)) })) });
}

export const history = (): Past[] => {
  const stored = get<Past[]>(`history.${owner}`, []);
  return Array.isArray(stored) ? stored.filter((past) => past && typeof past.sql === "string") : [];
};

export function remember(past: Past): void {
  if (hasSecret(past.sql) || past.sql.length > MOST_TEXT / 10) return;
  const rest = history().filter((one) => one.sql !== past.sql);
  set(`history.${owner}`, [past, ...rest].slice(0, MOST_HISTORY));
}

export function forgetHistory(): void {
  set(`history.${owner}`, []);
}

export const preference = <T>(name: string, otherwise: T): T => get<T>("preference." + name, otherwise);
export const setPreference = (name: string, value: unknown): void => set("preference." + name, value);
