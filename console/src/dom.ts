/** Makes elements. Texts become text nodes, never markup, and no style is written as an attribute. */

export type Child = Node | string | number | null | undefined | false;
export type Props = { [name: string]: string | number | boolean | null | undefined | ((event: never) => void) };

/** An element with properties and children. `onclick` and its like are listeners; true is an attribute without a value. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, props: Props = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  apply(element, props);
  append(element, children);
  return element;
}

function apply(element: Element, props: Props): void {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value as EventListener);
    else if (value === true) element.setAttribute(name, "");
    else element.setAttribute(name, String(value));
  }
}

function append(parent: Node, children: readonly Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    parent.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/** Puts children in the place of those that an element has. */
export function fill(parent: Element, ...children: Child[]): void {
  parent.replaceChildren();
  append(parent, children);
}

const SVG = "http://www.w3.org/2000/svg";

/** An element of SVG. */
export function svg(tag: string, props: Props = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS(SVG, tag);
  apply(element, props);
  append(element, children);
  return element;
}

const PATHS = {
  query: "M4 5l5 5-5 5M11 16h6",
  schema: "M4 5c0-1.7 12-1.7 12 0s-12 1.7-12 0v10c0 1.7 12 1.7 12 0V5M4 10c0 1.7 12 1.7 12 0",
  running: "M3 10h3l2-6 4 12 2-6h3",
  health: "M3 17V3M3 17h14M6 13l3-4 3 2 4-6",
  statements: "M4 5h12M4 9h9M4 13h12M4 17h6",
  documents: "M8 3c-3 0-1 6-4 7 3 1 1 7 4 7M12 3c3 0 1 6 4 7-3 1-1 7-4 7",
  play: "M6 4l10 6-10 6z",
  stop: "M5 5h10v10H5z",
  plus: "M10 4v12M4 10h12",
  close: "M5 5l10 10M15 5L5 15",
  right: "M8 5l5 5-5 5",
  down: "M5 8l5 5 5-5",
  sun: "M10 6.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7M10 2v2M10 16v2M2 10h2M16 10h2M4.3 4.3l1.4 1.4M14.3 14.3l1.4 1.4M4.3 15.7l1.4-1.4M14.3 5.7l1.4-1.4",
  help: "M7.5 7.5a2.5 2.5 0 1 1 3.6 2.2c-.8.4-1.1.9-1.1 1.8M10 14.5v.1",
  search: "M9 4a5 5 0 1 0 0 10A5 5 0 0 0 9 4M13 13l4 4",
  download: "M10 3v9M6 9l4 4 4-4M4 17h12",
  copy: "M7 7h9v9H7zM4 13V4h9",
  refresh: "M16 10a6 6 0 1 1-2-4.5M16 3v3.5h-3.5",
  table: "M3 4h14v12H3zM3 8h14M8 8v8",
  chart: "M4 16V9M9 16V4M14 16v-5",
  plan: "M7 3h6v4H7zM3 13h5v4H3zM12 13h5v4h-5zM10 7v3M5.5 13v-3h9v3",
  history: "M4 10a6 6 0 1 0 2-4.5M4 3v3.5h3.5M10 7v3l2 2",
  out: "M8 4H4v12h4M8 10h9M14 7l3 3-3 3",
  key: "M13 4a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7M10.5 10L4 16.5M6 14.5l2 2",
} as const;

export type IconName = keyof typeof PATHS;

/** A small drawing, hidden from screen readers: its button has a label. */
export function icon(name: IconName): SVGElement {
  return svg("svg", { class: "icon", viewBox: "0 0 20 20", "aria-hidden": "true", focusable: "false" }, svg("path", { d: PATHS[name] }));
}

/** A button with a drawing, whose label is also its tooltip. */
export function iconButton(name: IconName, label: string, onclick: (event: MouseEvent) => void, more: Props = {}): HTMLButtonElement {
  return h("button", { type: "button", class: "icon-button", title: label, "aria-label": label, onclick, ...more }, icon(name));
}

let polite: HTMLElement | undefined;

/** Says a text to screen readers. */
export function announce(text: string): void {
  if (!polite) {
    polite = h("div", { class: "sr-only", role: "status", "aria-live": "polite" });
    document.body.appendChild(polite);
  }
  polite.textContent = text;
}

/** Copies a text, also where the clipboard's interface is not given (plain HTTP of another host). */
export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = h("textarea", { class: "sr-only", "aria-hidden": "true" });
    area.value = text;
    const before = document.activeElement;
    document.body.appendChild(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    if (before instanceof HTMLElement) before.focus();
  }
  announce("Copied");
}

/** Gives a file to the person. */
export function download(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob);
  const link = h("a", { href: url, download: name });
  document.body.appendChild(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
