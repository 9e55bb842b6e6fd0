/** The bar between editor and results, moved by pointer or arrow keys. */

import { h } from "./dom";
import * as store from "./store";

const LEAST = 15;
const MOST = 80;

/** A bar below `above`, whose part of the height, in percent, it changes and keeps. */
export function splitter(above: HTMLElement): HTMLElement {
  const bar = h("div", { class: "splitter", role: "separator", tabindex: 0, "aria-orientation": "horizontal", "aria-label": "Height of the editor", "aria-valuemin": LEAST, "aria-valuemax": MOST });
  let part = store.preference("split", 38);
  const set = (to: number): void => {
    part = Math.max(LEAST, Math.min(MOST, to));
    bar.setAttribute("aria-valuenow", String(Math.round(part)));
    above.style.flexBasis = part + "%";
    store.setPreference("split", part);
  };
  set(part);
  bar.addEventListener("pointerdown", (event) => {
    bar.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  bar.addEventListener("pointermove", (event) => {
    if (!bar.hasPointerCapture(event.pointerId)) return;
    const box = above.parentElement?.getBoundingClientRect();
    if (box) set(((event.clientY - above.getBoundingClientRect().top) / box.height) * 100);
  });
  bar.addEventListener("keydown", (event) => {
    if (event.key === "ArrowUp") set(part - 4);
    else if (event.key === "ArrowDown") set(part + 4);
    else return;
    event.preventDefault();
  });
  return bar;
}
