"use strict";

const $ = (id) => document.getElementById(id);
let csrf = "";

const base64 = (text) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

async function ask(path, method, headers, body) {
  const answer = await fetch(path, {
    method,
    headers: { "X-Requested-With": "fetch", ...headers },
    body,
  });
  const text = await answer.text();
  const json = text ? JSON.parse(text) : {};
  if (!answer.ok) throw new Error(json.detail || answer.statusText);
  return json;
}

function cell(tag, text) {
  const element = document.createElement(tag);
  element.textContent = text;
  return element;
}

function table(result) {
  const element = document.createElement("table");
  const head = element.createTHead().insertRow();
  result.columns.forEach((column) => head.append(cell("th", column.name)));
  const body = element.createTBody();
  for (const row of result.rows) {
    const line = body.insertRow();
    row.forEach((value) => line.append(cell("td", value === null ? "NULL" : typeof value === "object" ? JSON.stringify(value) : value)));
  }
  return element;
}

$("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    const credentials = base64($("user").value + ":" + $("password").value);
    const session = await ask("/1.0/session", "POST", { Authorization: "Basic " + credentials });
    csrf = session.csrf_token;
    $("password").value = "";
    $("login").hidden = true;
    $("query").hidden = false;
    $("message").textContent = "";
  } catch (error) {
    $("message").textContent = error.message;
  }
});

$("query").addEventListener("submit", async (event) => {
  event.preventDefault();
  $("results").replaceChildren();
  $("message").textContent = "…";
  try {
    const headers = { "Content-Type": "application/json", "X-CSRF-Token": csrf };
    const body = JSON.stringify({ sql: $("sql").value, max_rows: 1000 });
    const answer = await ask("/1.0/sql", "POST", headers, body);
    answer.results.filter((result) => result.columns.length).forEach((result) => $("results").append(table(result)));
    $("message").textContent = answer.error ? answer.error.detail : answer.elapsed_ms.toFixed(1) + " ms";
  } catch (error) {
    $("message").textContent = error.message;
  }
});
