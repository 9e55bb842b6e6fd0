/** Dialogs, on the browser's own element: it keeps the focus inside and gives it back. */

import { copyText, h, iconButton, type Child } from "./dom";

/** Opens a dialog with a title; `close` ends it. */
export function openDialog(title: string, className: string, content: (close: () => void) => Child[]): HTMLDialogElement {
  const close = (): void => dialog.close();
  const dialog: HTMLDialogElement = h("dialog", { class: "dialog " + className, "aria-label": title });
  dialog.append(
    h("header", { class: "dialog-head" }, h("h2", {}, title), iconButton("close", "Close", close)),
    h("div", { class: "dialog-body" }, ...content(close)),
  );
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) close();
  });
  document.body.appendChild(dialog);
  dialog.showModal();
  return dialog;
}

/** Shows a text that is too long for its place. */
export function showText(title: string, text: string): void {
  openDialog(title, "wide", () => [
    h("pre", { class: "value", tabindex: 0 }, text),
    h("div", { class: "dialog-foot" }, h("button", { type: "button", class: "button", onclick: () => void copyText(text) }, "Copy")),
  ]);
}

/** Asks before something that cannot be taken back. */
export function confirmed(title: string, text: string, action: string): Promise<boolean> {
  return new Promise((done) => {
    let yes = false;
    const dialog = openDialog(title, "", (close) => [
      h("p", { class: "confirm-text" }, text),
      h(
        "div",
        { class: "dialog-foot" },
        h("button", { type: "button", class: "button", onclick: close }, "Not now"),
        h(
          "button",
          {
            type: "button",
            class: "button danger",
            autofocus: true,
            onclick: () => {
              yes = true;
              close();
            },
          },
          action,
        ),
      ),
    ]);
    dialog.addEventListener("close", () => done(yes));
  });
}
