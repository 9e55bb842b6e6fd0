/** Draws plans: cards of operators with rows, time and bytes, and lines as thick as the rows that go up them. */

import { h, svg } from "./dom";
import { layout, misestimate, totalTime, type Placed, type PlanNode } from "./explain";
import { brief, bytes, count, duration } from "./format";

const WIDTH = 208;
const HEIGHT = 68;
const ACROSS = 22;
const DOWN = 26;
const MOST_NODES = 600;
/** Fewer rows than this are few, however far the estimate was off. */
const MANY = 1000;
/** A plan that is too wide is drawn smaller, down to this. */
const SMALLEST = 0.6;

function fact(name: string, value: string, className = ""): HTMLElement {
  return h("span", { class: "plan-fact " + className }, h("span", { class: "sr-only" }, name + " "), value);
}

function rowsOf(node: PlanNode): HTMLElement | null {
  if (node.neverRun) return fact("rows", "never run");
  const wrong = Math.max(node.actualRows ?? 0, node.estimatedRows ?? 0) >= MANY ? misestimate(node) : undefined;
  if (node.actualRows !== undefined) {
    const title = node.estimatedRows === undefined ? `${count(node.actualRows)} rows` : `${count(node.actualRows)} rows, ${count(node.estimatedRows)} expected`;
    const element = fact("rows", `${brief(node.actualRows)} rows`, wrong !== undefined && wrong >= 10 ? "wrong" : "");
    element.title = title;
    if (wrong !== undefined && wrong >= 10) element.appendChild(h("span", { class: "plan-wrong", title }, ` ×${brief(wrong)} off`));
    return element;
  }
  return node.estimatedRows === undefined ? null : fact("expected rows", `~${brief(node.estimatedRows)} rows`);
}

function card(one: Placed, total: number): HTMLElement {
  const { node } = one;
  const share = total > 0 && node.time !== undefined ? node.time / total : 0;
  const full = `${node.operator} ${node.detail}`.trim();
  const bar = h("i", { class: "plan-bar", "aria-hidden": "true" });
  bar.style.width = Math.round(share * 100) + "%";
  const element = h(
    "div",
    { class: "plan-card" + (share >= 0.4 ? " hot" : share >= 0.15 ? " warm" : ""), tabindex: 0, role: "treeitem", "aria-level": one.depth + 1, title: full },
    h("div", { class: "plan-operator" }, node.operator),
    h("div", { class: "plan-detail" }, node.detail || "\u00a0"),
    h(
      "div",
      { class: "plan-facts" },
      rowsOf(node),
      node.time === undefined ? null : fact("time", duration(node.time), "time"),
      node.bytes === undefined ? null : fact("memory", bytes(node.bytes)),
      node.loops !== undefined && node.loops > 1 ? fact("loops", `×${count(node.loops)}`) : null,
      node.time === undefined && node.cost !== undefined ? fact("cost", `cost ${brief(node.cost)}`) : null,
    ),
    h("div", { class: "plan-share" }, bar),
  );
  element.style.left = one.x * (WIDTH + ACROSS) + "px";
  element.style.top = one.depth * (HEIGHT + DOWN) + "px";
  element.style.width = WIDTH + "px";
  element.style.height = HEIGHT + "px";
  return element;
}

function thickness(node: PlanNode): number {
  const rows = node.actualRows ?? node.estimatedRows ?? 1;
  return Math.min(14, 1 + Math.log10(Math.max(1, rows)) * 1.7);
}

function edge(one: Placed): SVGElement | null {
  if (!one.parent) return null;
  const fromX = one.x * (WIDTH + ACROSS) + WIDTH / 2;
  const fromY = one.depth * (HEIGHT + DOWN);
  const toX = one.parent.x * (WIDTH + ACROSS) + WIDTH / 2;
  const toY = one.parent.depth * (HEIGHT + DOWN) + HEIGHT;
  const middle = (fromY + toY) / 2;
  return svg("path", { class: "plan-edge", d: `M${fromX} ${fromY}C${fromX} ${middle} ${toX} ${middle} ${toX} ${toY}`, "stroke-width": thickness(one.node).toFixed(1) });
}

/** The drawing of a plan. */
export function drawPlan(roots: readonly PlanNode[]): HTMLElement {
  const { placed, width, depth } = layout(roots);
  const shown = placed.slice(0, MOST_NODES);
  const total = totalTime(roots);
  const w = Math.max(WIDTH, width * (WIDTH + ACROSS) - ACROSS);
  const tall = Math.max(HEIGHT, depth * (HEIGHT + DOWN) - DOWN);
  const lines = svg("svg", { class: "plan-lines", width: w, height: tall, viewBox: `0 0 ${w} ${tall}`, "aria-hidden": "true" }, ...shown.map(edge));
  const space = h("div", { class: "plan-space" }, lines, ...shown.map((one) => card(one, total)));
  space.style.width = w + "px";
  space.style.height = tall + "px";
  const frame = h("div", { class: "plan-frame" }, space);
  const cards = [...space.querySelectorAll<HTMLElement>(".plan-card")];
  cards.forEach((one, i) => (one.tabIndex = i === 0 ? 0 : -1));
  const tree = h("div", { class: "plan-tree", role: "tree", "aria-label": "Plan: the operator at the top makes the result; rows come up from below" }, frame);
  new ResizeObserver(() => fit(tree, frame, space, w, tall)).observe(tree);
  tree.addEventListener("keydown", (event) => moveBetween(event, shown, cards));
  const measured = total > 0;
  const note = placed.length > shown.length ? ` The first ${MOST_NODES} of ${placed.length} operators are drawn.` : "";
  return h(
    "div",
    { class: "plan" },
    h("p", { class: "plan-note" }, measured ? `${duration(total)} in ${count(placed.length)} operators; the bar is an operator's share of it.` : "Rows are estimates: Analyze runs the statement and measures it.", note),
    tree,
  );
}

/** Draws a wide plan smaller, as long as it can be read. */
function fit(tree: HTMLElement, frame: HTMLElement, space: HTMLElement, width: number, height: number): void {
  const scale = Math.max(SMALLEST, Math.min(1, (tree.clientWidth - 4) / width));
  space.style.transform = `scale(${scale})`;
  frame.style.width = width * scale + "px";
  frame.style.height = height * scale + "px";
}

/** Arrow keys go to the operator above, below and beside. */
function moveBetween(event: KeyboardEvent, placed: readonly Placed[], cards: readonly HTMLElement[]): void {
  const at = cards.indexOf(document.activeElement as HTMLElement);
  if (at < 0) return;
  const here = placed[at];
  const level = placed.filter((one) => one.depth === here.depth).sort((a, b) => a.x - b.x);
  const beside = level.indexOf(here);
  const to: Placed | undefined = {
    ArrowUp: here.parent,
    ArrowDown: placed.find((one) => one.parent === here),
    ArrowLeft: level[beside - 1],
    ArrowRight: level[beside + 1],
    Home: placed[0],
  }[event.key];
  if (!to) return;
  event.preventDefault();
  cards.forEach((one) => (one.tabIndex = -1));
  const card = cards[placed.indexOf(to)];
  card.tabIndex = 0;
  card.focus();
}
