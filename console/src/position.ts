/** Where in a text of SQL an error is, as far as its message says it. */

export interface Range {
  from: number;
  to: number;
}

function word(sql: string, from: number): Range {
  const match = /^(?:`[^`]*`?|'[^']*'?|"[^"]*"?|[\w$\u0080-\uffff.]+|\S)/.exec(sql.slice(from));
  return { from, to: from + (match ? match[0].length : 1) };
}

function offsetOfLine(sql: string, line: number): number {
  let at = 0;
  for (let i = 1; i < line; i += 1) {
    const next = sql.indexOf("\n", at);
    if (next < 0) return at;
    at = next + 1;
  }
  return at;
}

/** The place of a syntax error: MySQL's message quotes the text from there on, and tells its line. */
function syntaxError(sql: string, near: string, line: number): Range | undefined {
  if (near === "") {
    const end = sql.trimEnd().length;
    return { from: Math.max(0, end - 1), to: end };
  }
  const start = offsetOfLine(sql, line);
  const inLine = sql.indexOf(near, start);
  const at = inLine >= 0 ? inLine : sql.indexOf(near);
  return at < 0 ? undefined : word(sql, at);
}

/** Where a name stands, as a whole word, with or without backticks. */
function name(sql: string, wanted: string): Range | undefined {
  const parts = wanted.split(".");
  for (const candidate of [wanted, parts[parts.length - 1]]) {
    if (candidate === "") continue;
    const escaped = candidate.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const match = new RegExp(`(^|[^\\w$])(\`?${escaped}\`?)(?![\\w$])`, "i").exec(sql);
    if (match) {
      const from = match.index + match[1].length;
      return { from, to: from + match[2].length };
    }
  }
  return undefined;
}

/** The part of `sql` that a message means, or nothing. */
export function placeOf(sql: string, message: string): Range | undefined {
  const syntax = /near '([\s\S]*)' at line (\d+)/.exec(message);
  if (syntax) return syntaxError(sql, syntax[1], Number(syntax[2]));
  const named = /(?:Unknown column|Unknown table|Unknown database|Table|Column|FUNCTION|PROCEDURE|function|Unknown system variable) '?([^'\s]+)'?/.exec(message);
  return named ? name(sql, named[1]) : undefined;
}
