/** Statements that were run before, found by their text. */

import { openDialog } from "./dialog";
import { fill, h } from "./dom";
import { count, duration } from "./format";
import * as store from "./store";

/** Opens the list; `choose` gets the statement that was taken. */
export function openHistory(choose: (sql: string) => void): void {
  openDialog("History", "wide", (close) => {
    const search = h("input", { type: "search", class: "input", placeholder: "Find in statements", "aria-label": "Find in statements", autofocus: true });
    const list = h("ul", { class: "history" });
    const draw = (): void => {
      const wanted = search.value.trim().toLowerCase();
      const found = store.history().filter((past) => past.sql.toLowerCase().includes(wanted)).slice(0, 100);
      fill(
        list,
        ...found.map((past) =>
          h(
            "li",
            {},
            h(
              "button",
              { type: "button", class: "history-item", onclick: () => void (close(), choose(past.sql)) },
              h("code", {}, past.sql.length > 400 ? past.sql.slice(0, 400) + "…" : past.sql),
              h("span", { class: past.error ? "bad" : "muted" }, `${new Date(past.at).toLocaleString()} · ${past.error ?? `${count(past.rows)} rows · ${duration(past.ms)}`}`),
            ),
          ),
        ),
      );
      if (found.length === 0) fill(list, h("li", { class: "nothing" }, "Nothing found."));
    };
    search.addEventListener("input", draw);
    draw();
    const forget = h("button", { type: "button", class: "button", onclick: () => void (store.forgetHistory(), draw()) }, "Forget all");
    return [search, list, h("div", { class: "dialog-foot" }, h("span", { class: "muted" }, "Kept in this browser, without statements that hold passwords."), h("span", { class: "spring" }), forget)];
  });
}
