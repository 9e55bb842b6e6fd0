/** Finds pages, commands and tables by some letters, and lists the keys. */

import { catalog } from "./catalog";
import { openDialog } from "./dialog";
import { fill, h } from "./dom";
import type { Command } from "./page";

/** How well a text has the letters of a pattern, in order: greater is better, undefined is not at all. */
export function match(pattern: string, text: string): number | undefined {
  const wanted = pattern.toLowerCase().replace(/\s+/g, "");
  const has = text.toLowerCase();
  if (wanted === "") return 0;
  const whole = has.indexOf(pattern.toLowerCase().trim());
  if (whole >= 0) return 1000 - whole - has.length / 100;
  let at = -1;
  let score = 0;
  for (const letter of wanted) {
    const next = has.indexOf(letter, at + 1);
    if (next < 0) return undefined;
    score += next === at + 1 ? 5 : /[^a-z0-9]/.test(has[next - 1] ?? " ") ? 4 : 0;
    at = next;
  }
  return score - has.length / 100;
}

/** Commands of the tables that are known already. */
function tables(open: (schema: string, name: string) => void): Command[] {
  return [...catalog.known.values()].flat().map((table) => ({ group: "Table", title: `${table.schema}.${table.name}`, run: () => open(table.schema, table.name) }));
}

/** Opens the palette. */
export function openPalette(commands: readonly Command[], openTable: (schema: string, name: string) => void): void {
  if (document.querySelector("dialog.palette")) return;
  for (const schema of catalog.schemas.slice(0, 20)) void catalog.tables(schema).catch(() => undefined);
  openDialog("Commands", "palette", (close) => {
    let found: Command[] = [];
    let chosen = 0;
    const list = h("ul", { class: "palette-list", role: "listbox", id: "palette-list", "aria-label": "Found" });
    const input = h("input", { class: "input", placeholder: "A command, a page or a table", role: "combobox", "aria-expanded": "true", "aria-controls": "palette-list", "aria-autocomplete": "list", "aria-label": "Command", autofocus: true, autocomplete: "off", spellcheck: "false" });
    const take = (command: Command | undefined): void => {
      if (!command) return;
      close();
      command.run();
    };
    const draw = (): void => {
      const all = [...commands, ...tables(openTable)];
      found = all
        .map((command) => ({ command, score: match(input.value, command.title) }))
        .filter((one): one is { command: Command; score: number } => one.score !== undefined)
        .sort((a, b) => b.score - a.score)
        .slice(0, 40)
        .map((one) => one.command);
      chosen = Math.max(0, Math.min(chosen, found.length - 1));
      fill(
        list,
        ...found.map((command, i) =>
          h("li", { role: "option", id: `palette-${i}`, "aria-selected": String(i === chosen), onclick: () => take(command) }, h("span", { class: "palette-group" }, command.group), h("span", { class: "palette-title" }, command.title), command.keys ? h("kbd", {}, command.keys) : null),
        ),
      );
      if (found.length > 0) input.setAttribute("aria-activedescendant", `palette-${chosen}`);
      else input.removeAttribute("aria-activedescendant");
      list.children[chosen]?.scrollIntoView({ block: "nearest" });
    };
    input.addEventListener("input", () => {
      chosen = 0;
      draw();
    });
    input.addEventListener("keydown", (event) => {
      const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
      if (by !== 0) {
        chosen = (chosen + by + found.length) % Math.max(1, found.length);
        draw();
      } else if (event.key === "Enter") take(found[chosen]);
      else return;
      event.preventDefault();
    });
    draw();
    return [input, list];
  });
}

const GRID_KEYS: [string, string][] = [["Arrow keys, Page Up, Page Down, Home, End", "Move in the table of results"], ["Enter", "Show the whole value"], ["Ctrl+C", "Copy the value"], ["Ctrl+Shift+C", "Copy the row"], ["Alt+Left, Alt+Right", "Column narrower, wider"]];

/** Opens the page of keys. */
export function openShortcuts(commands: readonly Command[]): void {
  const groups = new Map<string, [string, string][]>();
  for (const command of commands) {
    if (!command.keys) continue;
    const group = groups.get(command.group) ?? [];
    group.push([command.keys, command.title]);
    groups.set(command.group, group);
  }
  groups.set("Results", GRID_KEYS);
  openDialog("Keys", "wide", () => [
    h(
      "div",
      { class: "shortcuts" },
      ...[...groups].map(([name, keys]) => h("section", {}, h("h3", {}, name), h("dl", {}, ...keys.flatMap(([key, title]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, title)])))),
    ),
    h("p", { class: "muted" }, "Each run is a session of its own. Statements that belong together, such as BEGIN … COMMIT, are selected and run together."),
  ]);
}
