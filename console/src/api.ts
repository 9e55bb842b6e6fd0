/** Talks to the server: sessions and statements. Nothing else of the console sends requests. */

import type { Answer, Problem, Result } from "./answer";

/** An error of the server, of the network, or an end by the person. */
export class ServerError extends Error {
  constructor(
    readonly problem: Problem,
    readonly cancelled = false,
  ) {
    super(problem.detail ?? problem.title ?? `HTTP ${problem.status ?? "?"}`);
  }
}

export interface Options {
  database?: string;
  max_rows?: number;
  timeout_ms?: number;
  read_only?: boolean;
  params?: unknown[];
  signal?: AbortSignal;
  /** Hears how many bytes have come. */
  progress?: (bytes: number) => void;
}

/** Bytes of an answer that the page takes; a longer one is a download. */
const MOST_BYTES = 512 * 1024 * 1024;
/** Says that a page asks, so that the server does not let the browser ask for a password. */
const PAGE = { "X-Requested-With": "squall-console" };

let token = "";
let lost: () => void = () => undefined;

/** Calls `then` when the server no longer knows the session. */
export function onLogout(then: () => void): void {
  lost = then;
}

export interface Account {
  account: string;
}

async function problemOf(response: Response): Promise<Problem> {
  const text = await response.text().catch(() => "");
  try {
    const doc = JSON.parse(text) as Problem;
    return { ...doc, status: response.status };
  } catch {
    return { status: response.status, title: response.statusText || `HTTP ${response.status}`, detail: text.slice(0, 500) || undefined };
  }
}

async function send(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(path, { credentials: "same-origin", cache: "no-store", redirect: "error", ...init });
  } catch (error) {
    if (init.signal?.aborted) throw new ServerError({ title: "Cancelled" }, true);
    throw new ServerError({ title: "The server does not answer", detail: `The server does not answer (${String(error)})` });
  }
}

function accept(doc: { csrf_token?: string; account?: string }): Account {
  token = doc.csrf_token ?? "";
  return { account: doc.account ?? "" };
}

/** Opens a session, which the browser keeps as a cookie that no script can read. */
export async function logIn(user: string, password: string): Promise<Account> {
  const raw = new TextEncoder().encode(`${user}:${password}`);
  let binary = "";
  for (const byte of raw) binary += String.fromCharCode(byte);
  const response = await send("/1.0/session", { method: "POST", headers: { ...PAGE, Authorization: "Basic " + btoa(binary) } });
  if (!response.ok) throw new ServerError(await problemOf(response));
  return accept(await response.json());
}

/** The session that the browser has from before, if the server still knows it. */
export async function resume(): Promise<Account | undefined> {
  const response = await send("/1.0/session", { headers: PAGE });
  return response.ok ? accept(await response.json()) : undefined;
}

/** Ends the session. */
export async function logOut(): Promise<void> {
  await send("/1.0/session", { method: "DELETE", headers: headers({}) });
  token = "";
}

function headers(more: { [name: string]: string }): { [name: string]: string } {
  return { ...PAGE, "X-CSRF-Token": token, ...more };
}

async function post(sql: string, accepted: string, options: Options): Promise<Response> {
  const { signal, progress: _, ...body } = options;
  const response = await send("/1.0/sql", {
    method: "POST",
    headers: headers({ "Content-Type": "application/json", Accept: accepted }),
    body: JSON.stringify({ sql, ...body }),
    signal,
  });
  if (response.ok) return response;
  const problem = await problemOf(response);
  if (response.status === 401) lost();
  throw new ServerError(problem);
}

/** Runs statements and waits for all that they answer. */
export async function run(sql: string, options: Options = {}): Promise<Answer> {
  const response = await post(sql, "application/json", options);
  const text = await read(response, options);
  let answer: Answer;
  try {
    answer = JSON.parse(text) as Answer;
  } catch {
    throw new ServerError({ title: "The answer was cut", detail: "The connection ended before the whole answer had come" });
  }
  answer.results ??= [];
  if (answer.error && answer.results.length === 0) throw new ServerError(answer.error);
  for (const result of answer.results) {
    // A statement without a result set has empty lists, and a set has columns.
    if (result.columns?.length !== 0) continue;
    delete result.columns;
    delete result.rows;
  }
  return answer;
}

async function read(response: Response, options: Options): Promise<string> {
  if (!response.body) return response.text();
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const parts: string[] = [];
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      size += value.byteLength;
      if (size > MOST_BYTES) {
        await reader.cancel();
        throw new ServerError({ title: "The result is too large for the page", detail: "The result is larger than 512 MiB: download it, or ask for fewer rows" });
      }
      parts.push(decoder.decode(value, { stream: true }));
      options.progress?.(size);
    }
  } catch (error) {
    if (error instanceof ServerError) throw error;
    if (options.signal?.aborted) throw new ServerError({ title: "Cancelled" }, true);
    throw new ServerError({ title: "The answer was cut", detail: `The connection ended within the answer (${String(error)})` });
  }
  parts.push(decoder.decode());
  return parts.join("");
}

/** The first result of statements that must have one. */
export async function rows(sql: string, options: Options = {}): Promise<Result> {
  const answer = await run(sql, options);
  if (answer.error) throw new ServerError(answer.error);
  return answer.results[0] ?? { columns: [], rows: [] };
}

/** The first result set in another form, whole: `text/csv`, `application/x-ndjson`, `application/vnd.apache.arrow.stream`, `application/vnd.apache.parquet`. */
export async function exported(sql: string, accepted: string, options: Options = {}): Promise<Blob> {
  const response = await post(sql, accepted, options);
  return new Blob([await response.blob()], { type: accepted });
}

/** A request to the documents of `/json`. */
export async function json(method: string, path: string, body?: string): Promise<{ status: number; text: string }> {
  const response = await send(path, { method, headers: headers(body === undefined ? {} : { "Content-Type": "application/json" }), body });
  if (response.status === 401) lost();
  return { status: response.status, text: await response.text() };
}

/** Rows of metadata. The names of its columns come in any case, so they are read by place. */
export async function table(sql: string, options: Options = {}): Promise<Result["rows"] & object> {
  return (await rows(sql, { max_rows: 100_000, ...options })).rows ?? [];
}
