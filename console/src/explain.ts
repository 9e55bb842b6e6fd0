/** Reads plans: the text of EXPLAIN FORMAT=TREE and EXPLAIN ANALYZE, and the document of EXPLAIN FORMAT=JSON. */

/** An operator of a plan. Times are in milliseconds, sizes in bytes; what the server does not tell is undefined. */
export interface PlanNode {
  /** What it does: `Table scan`. */
  operator: string;
  /** On what, how: ` on orders`. */
  detail: string;
  estimatedRows?: number;
  cost?: number;
  /** Rows of all loops together. */
  actualRows?: number;
  loops?: number;
  /** Time of this operator alone, over all loops. */
  time?: number;
  bytes?: number;
  neverRun?: boolean;
  children: PlanNode[];
}

const DEEPEST = 400;

function number(pattern: RegExp, text: string): number | undefined {
  const match = pattern.exec(text);
  return match ? Number(match[1]) : undefined;
}

/** Splits `Table scan on o` or `Filter: (a = 1)` into what and on what. */
function parts(title: string): [string, string] {
  const colon = title.indexOf(": ");
  const on = / (?:on|using) /.exec(title);
  const bracket = title.indexOf(" (");
  const cuts = [colon, on ? on.index : -1, bracket].filter((at) => at > 0);
  if (cuts.length === 0) return [title, ""];
  const cut = Math.min(...cuts);
  return [title.slice(0, cut), title.slice(cut === colon ? cut + 2 : cut + 1)];
}

interface Line extends PlanNode {
  indent: number;
  /** Whether the time includes the operators below, as MySQL's `a..b` does. */
  inclusive: boolean;
}

function readLine(line: string): Line | undefined {
  const match = /^(\s*)-> (.*)$/.exec(line);
  if (!match) return undefined;
  let title = match[2];
  const estimate = /\s+\((?:cost=(\S+)\s+)?rows=(\S+?)\)/.exec(title);
  const actual = /\(actual time=(\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?:\.\.(\d+(?:\.\d+)?(?:e[+-]?\d+)?))? rows=(\S+) loops=(\d+)([^)]*)\)/.exec(title);
  const never = title.includes("(never executed)");
  const bytes = number(/\bbytes=(\d+)/, title) ?? number(/\bmemory=(\d+)/, title);
  for (const cut of [estimate?.index, actual?.index, never ? title.indexOf("(never executed)") : undefined]) {
    if (cut !== undefined) title = title.slice(0, Math.min(title.length, cut));
  }
  const [operator, detail] = parts(title.trim());
  const loops = actual ? Number(actual[4]) : undefined;
  const span = actual?.[2] !== undefined;
  return {
    indent: match[1].length,
    operator,
    detail,
    estimatedRows: estimate ? Number(estimate[2]) : undefined,
    cost: estimate?.[1] ? Number(estimate[1]) : undefined,
    actualRows: actual ? Number(actual[3]) * (span ? Number(actual[4]) : 1) : undefined,
    loops,
    time: actual ? (span ? Number(actual[2]) * Number(actual[4]) : Number(actual[1])) : undefined,
    inclusive: span,
    bytes,
    neverRun: never || undefined,
    children: [],
  };
}

/** The plans of a tree's text: one root, or several for statements of several parts. */
export function readTree(text: string): PlanNode[] {
  const roots: Line[] = [];
  const open: Line[] = [];
  for (const raw of text.split("\n")) {
    const node = readLine(raw);
    if (!node) {
      // A condition may have line ends: they go on with the line before.
      const before = open[open.length - 1];
      if (before && raw.trim() !== "") before.detail += " " + raw.trim();
      continue;
    }
    while (open.length > 0 && open[open.length - 1].indent >= node.indent) open.pop();
    const parent = open[open.length - 1];
    if (parent) parent.children.push(node);
    else roots.push(node);
    if (open.length < DEEPEST) open.push(node);
  }
  for (const root of roots) own(root);
  return roots;
}

/** Takes the time of the operators below out of times that include it. */
function own(node: PlanNode & { inclusive?: boolean }): void {
  if (node.inclusive && node.time !== undefined) {
    let below = 0;
    for (const child of node.children as Line[]) below += child.inclusive ? (child.time ?? 0) : 0;
    const total = node.time;
    for (const child of node.children) own(child);
    node.time = Math.max(0, total - below);
    return;
  }
  for (const child of node.children) own(child);
}

type Doc = { [key: string]: unknown };

const ACCESS: { [type: string]: string } = {
  ALL: "Table scan",
  index: "Index scan",
  range: "Index range scan",
  ref: "Index lookup",
  eq_ref: "Single-row index lookup",
  const: "Constant row",
  system: "Constant row",
};

function tableNode(table: Doc): PlanNode {
  const type = String(table["access_type"] ?? "");
  const node: PlanNode = {
    operator: table["message"] ? String(table["message"]) : (ACCESS[type] ?? (type || "Table")),
    detail: table["table_name"] ? "on " + String(table["table_name"]) + (table["key"] ? " using " + String(table["key"]) : "") : "",
    estimatedRows: typeof table["rows_examined_per_scan"] === "number" ? table["rows_examined_per_scan"] : undefined,
    children: [],
  };
  const inner = table["materialized_from_subquery"];
  if (isDoc(inner)) node.children.push(...walk(inner, 0));
  return node;
}

function isDoc(value: unknown): value is Doc {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const WRAPPERS: { [key: string]: string } = {
  ordering_operation: "Sort",
  grouping_operation: "Group",
  duplicates_removal: "Distinct",
  union_result: "Union",
  windowing: "Window",
  buffer_result: "Buffer",
};

function walk(doc: Doc, depth: number): PlanNode[] {
  if (depth > DEEPEST) return [];
  const nodes: PlanNode[] = [];
  for (const [key, value] of Object.entries(doc)) {
    if (key === "table" && isDoc(value)) nodes.push(tableNode(value));
    else if (key === "nested_loop" && Array.isArray(value)) {
      nodes.push({ operator: "Join", detail: "", children: value.filter(isDoc).flatMap((one) => walk(one, depth + 1)) });
    } else if (key in WRAPPERS && isDoc(value)) {
      nodes.push({ operator: WRAPPERS[key], detail: "", children: walk(value, depth + 1) });
    } else if (key === "query_block" && isDoc(value)) {
      const inner = walk(value, depth + 1);
      nodes.push({ operator: "Query", detail: String(value["message"] ?? ""), children: inner });
    } else if (Array.isArray(value)) nodes.push(...value.filter(isDoc).flatMap((one) => walk(one, depth + 1)));
  }
  return nodes;
}

/** The plan of EXPLAIN FORMAT=JSON. */
export function readJson(doc: unknown): PlanNode[] {
  return isDoc(doc) ? walk(doc, 0) : [];
}

/** Where a node is drawn: `x` counts places from the left, `depth` from the root. */
export interface Placed {
  node: PlanNode;
  x: number;
  depth: number;
  parent?: Placed;
}

/** Places of all nodes: leaves side by side, each operator above the middle of those below it. */
export function layout(roots: readonly PlanNode[]): { placed: Placed[]; width: number; depth: number } {
  const placed: Placed[] = [];
  let next = 0;
  let deepest = 0;
  const place = (node: PlanNode, depth: number, parent?: Placed): Placed => {
    const one: Placed = { node, x: 0, depth, parent };
    placed.push(one);
    deepest = Math.max(deepest, depth);
    const below = node.children.map((child) => place(child, depth + 1, one));
    one.x = below.length === 0 ? next++ : (below[0].x + below[below.length - 1].x) / 2;
    return one;
  };
  for (const root of roots) place(root, 0);
  return { placed, width: next, depth: placed.length === 0 ? 0 : deepest + 1 };
}

/** The sum of the times of all operators. */
export function totalTime(roots: readonly PlanNode[]): number {
  return roots.reduce((sum, node) => sum + (node.time ?? 0) + totalTime(node.children), 0);
}

/** How far an estimate is from the truth: 10 means ten times too few or too many; undefined if one is not known. */
export function misestimate(node: PlanNode): number | undefined {
  if (node.actualRows === undefined || node.estimatedRows === undefined) return undefined;
  const estimated = Math.max(1, node.estimatedRows * (node.loops ?? 1));
  const actual = Math.max(1, node.actualRows);
  return Math.max(estimated / actual, actual / estimated);
}
