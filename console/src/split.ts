/** Where statements begin and end in a text of SQL, by the lexical rules of MySQL. */

/** A statement: `text` is `source.slice(from, to)`, without its delimiter and the blanks and comments before it. */
export interface Statement {
  from: number;
  to: number;
  /** Offset behind the delimiter, or the end of the text. */
  end: number;
  text: string;
}

const WORD = /[A-Za-z0-9_$\u0080-\uffff]/;
const STORED = new Set(["PROCEDURE", "FUNCTION", "TRIGGER", "EVENT"]);

/** The offset behind the comment, string or quoted name that begins at `at`, or `at` if none begins there. */
export function skipQuoted(source: string, at: number): number {
  const c = source[at];
  if (c === "'" || c === '"' || c === "`") {
    let i = at + 1;
    while (i < source.length) {
      if (source[i] === "\\" && c !== "`") i += 2;
      else if (source[i] === c && source[i + 1] === c) i += 2;
      else if (source[i] === c) return i + 1;
      else i += 1;
    }
    return source.length;
  }
  return skipComment(source, at);
}

/** The offset behind the comment that begins at `at`, or `at` if none begins there. */
export function skipComment(source: string, at: number): number {
  const two = source.slice(at, at + 2);
  if (source[at] === "#" || (two === "--" && (at + 2 >= source.length || /\s/.test(source[at + 2])))) {
    const line = source.indexOf("\n", at);
    return line < 0 ? source.length : line + 1;
  }
  if (two === "/*") {
    // `/*!` and `/*+` are read by the server: they are part of the statement.
    if (source[at + 2] === "!" || source[at + 2] === "+") return at;
    const close = source.indexOf("*/", at + 2);
    return close < 0 ? source.length : close + 2;
  }
  return at;
}

/** Whether a statement that began is a definition whose body has statements of its own, and how deep we are in it. */
class Nesting {
  private words = 0;
  private create = false;
  private body = false;
  private afterEnd = false;
  depth = 0;

  word(word: string): void {
    const upper = word.toUpperCase();
    this.words += 1;
    if (this.words === 1) this.create = upper === "CREATE" || upper === "ALTER";
    else if (this.create && STORED.has(upper) && this.words < 12) this.body = true;
    if (!this.body) return;
    if (this.afterEnd) {
      this.afterEnd = false;
      // END IF, END LOOP … close blocks that are not counted; END and END CASE do.
      if (upper === "IF" || upper === "LOOP" || upper === "WHILE" || upper === "REPEAT") {
        this.depth += 1;
        return;
      }
      if (upper === "CASE") return;
    }
    if (upper === "BEGIN" || upper === "CASE") this.depth += 1;
    else if (upper === "END" && this.depth > 0) {
      this.depth -= 1;
      this.afterEnd = true;
    }
  }
}

/** All statements of a text, in order. `DELIMITER x` on its own line works as in MySQL's clients. */
export function statements(source: string): Statement[] {
  const found: Statement[] = [];
  let delimiter = ";";
  let from = -1;
  let last = 0;
  let nesting = new Nesting();
  let at = 0;
  const finish = (end: number): void => {
    if (from >= 0) found.push({ from, to: last, end, text: source.slice(from, last) });
    from = -1;
    nesting = new Nesting();
  };
  while (at < source.length) {
    if (from < 0) {
      const command = /^delimiter[ \t]+(\S+)[^\n]*(\n|$)/i.exec(source.slice(at, at + 80));
      if (command) {
        delimiter = command[1];
        at += command[0].length;
        continue;
      }
    }
    if (source.startsWith(delimiter, at) && (delimiter !== ";" || nesting.depth === 0)) {
      at += delimiter.length;
      finish(at);
      continue;
    }
    if (/\s/.test(source[at])) {
      at += 1;
      continue;
    }
    const behindComment = skipComment(source, at);
    if (behindComment > at) {
      at = behindComment;
      continue;
    }
    if (from < 0) from = at;
    const behind = skipQuoted(source, at);
    if (behind > at) at = behind;
    else if (WORD.test(source[at])) {
      const start = at;
      while (at < source.length && WORD.test(source[at]) && !(delimiter !== ";" && source.startsWith(delimiter, at))) at += 1;
      if (at === start) at += 1;
      nesting.word(source.slice(start, at));
    } else at += 1;
    last = at;
  }
  finish(source.length);
  return found;
}

/** The statement that a cursor at `position` means: the one around it, else the one before it on its line, else the next, else the last. */
export function statementAt(source: string, position: number): Statement | undefined {
  const all = statements(source);
  const inside = all.find((one) => position >= one.from && position <= one.to);
  if (inside) return inside;
  const before = all.filter((one) => one.to < position).pop();
  if (before && !source.slice(before.to, position).includes("\n")) return before;
  return all.find((one) => one.from >= position) ?? before;
}

/** Whether a text may hold a password, which is then kept nowhere. */
export function hasSecret(sql: string): boolean {
  return /identified\s+(with\s+\S+\s+)?(by|as)|set\s+password|\bpassword\s*[(=]|\bsecret\b|_password\b|api\s+token/i.test(sql);
}

/** The schema of a `USE` statement. */
export function schemaOfUse(sql: string): string | undefined {
  const match = /^use\s+(?:`((?:[^`]|``)+)`|([^\s;`]+))\s*;?\s*$/i.exec(sql.trim());
  return match ? (match[1]?.replaceAll("``", "`") ?? match[2]) : undefined;
}

/** A name as SQL has it, quoted. */
export function quoteName(name: string): string {
  return "`" + name.replaceAll("`", "``") + "`";
}

/** A name as SQL has it, quoted only where it must be. */
export function plainName(name: string): string {
  return /^[A-Za-z_$][A-Za-z0-9_$]*$/.test(name) ? name : quoteName(name);
}
