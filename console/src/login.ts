/** The page for the name and the password. */

import * as api from "./api";
import { fill, h, svg } from "./dom";
import * as store from "./store";

/** The program's sign. */
export function sign(): SVGElement {
  return svg("svg", { class: "sign", viewBox: "0 0 32 32", "aria-hidden": "true" }, svg("path", { d: "M6 12h13.5a3.8 3.8 0 1 0-3.6-5M6 17h19M6 22h9.5a3 3 0 1 1-2.8 4" }));
}

/** Shows the page and calls `then` once the server has accepted a name and a password. */
export function showLogin(place: HTMLElement, reason: string, then: (account: api.Account) => void): void {
  const user = h("input", { class: "input", name: "username", autocomplete: "username", required: true, autocapitalize: "none", spellcheck: "false", value: store.preference("user", "") });
  const password = h("input", { class: "input", name: "password", type: "password", autocomplete: "current-password" });
  const button = h("button", { type: "submit", class: "button primary" }, "Log in");
  const message = h("div", { class: "login-message", role: "alert" }, reason);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    button.disabled = true;
    fill(message);
    try {
      const account = await api.logIn(user.value, password.value);
      password.value = "";
      store.setPreference("user", user.value);
      then(account);
    } catch (error) {
      fill(message, error instanceof Error ? error.message : String(error));
      password.select();
    } finally {
      button.disabled = false;
    }
  };
  fill(
    place,
    h(
      "main",
      { class: "login" },
      h(
        "form",
        { class: "login-form", onsubmit: (event: Event) => void submit(event) },
        h("h1", {}, sign(), "Squall"),
        h("label", { class: "field" }, h("span", {}, "User"), user),
        h("label", { class: "field" }, h("span", {}, "Password"), password),
        message,
        button,
        h("p", { class: "muted" }, "An account of this server. It needs the privilege JSON_API."),
      ),
    ),
  );
  (user.value ? password : user).focus();
}
