/** The editor: CodeMirror in a shadow root, where its styles are constructed sheets, which the strict CSP allows. */

import { acceptCompletion, autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { MySQL, sql } from "@codemirror/lang-sql";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { highlightSelectionMatches, openSearchPanel, search, searchKeymap } from "@codemirror/search";
import { EditorState, Prec, StateEffect, StateField } from "@codemirror/state";
import { Decoration, drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers, placeholder, type DecorationSet } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { source } from "./complete";
import type { Range } from "./position";
import { statementAt } from "./split";

const look = EditorView.theme({
  "&": { height: "100%", fontSize: "13px", color: "var(--text)", backgroundColor: "transparent" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55", fontVariantLigatures: "none" },
  ".cm-content": { caretColor: "var(--text)", padding: "8px 0" },
  ".cm-cursor": { borderLeftColor: "var(--text)", borderLeftWidth: "2px" },
  ".cm-gutters": { backgroundColor: "var(--page)", color: "var(--faint)", border: "none" },
  ".cm-activeLine": { backgroundColor: "var(--line-active)" },
  ".cm-activeLineGutter": { backgroundColor: "transparent", color: "var(--text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { background: "var(--selection)" },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": { backgroundColor: "var(--selection)", outline: "1px solid var(--accent)" },
  ".cm-selectionMatch": { backgroundColor: "var(--selection)" },
  ".cm-statement": { boxShadow: "inset 2px 0 0 var(--accent)" },
  ".cm-tooltip": { backgroundColor: "var(--raised)", color: "var(--text)", border: "1px solid var(--border-strong)", borderRadius: "6px", boxShadow: "var(--shadow)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", fontSize: "12.5px", maxHeight: "16em" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "2px 8px" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { background: "var(--accent-fill)", color: "var(--on-accent)" },
  ".cm-tooltip-autocomplete ul li[aria-selected] .cm-completionDetail": { color: "var(--on-accent)" },
  ".cm-completionDetail": { color: "var(--muted)", fontStyle: "normal", marginLeft: "1em" },
  ".cm-completionIcon": { color: "var(--muted)", opacity: "1" },
  ".cm-placeholder": { color: "var(--muted)" },
  ".cm-panels": { backgroundColor: "var(--surface)", color: "var(--text)", borderColor: "var(--border)" },
  ".cm-panel.cm-search": { padding: "6px 8px" },
  ".cm-textfield": { backgroundColor: "var(--page)", color: "var(--text)", border: "1px solid var(--border-strong)", borderRadius: "4px" },
  ".cm-button": { backgroundImage: "none", backgroundColor: "var(--raised)", color: "var(--text)", border: "1px solid var(--border-strong)", borderRadius: "4px" },
  ".cm-error": { textDecoration: "underline wavy var(--bad) 1.5px", textUnderlineOffset: "3px", backgroundColor: "var(--bad-soft)" },
});

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--sql-keyword)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--sql-string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--sql-number)" },
  { tag: tags.comment, color: "var(--muted)", fontStyle: "italic" },
  { tag: [tags.typeName, tags.standard(tags.name)], color: "var(--sql-type)" },
  { tag: tags.operator, color: "var(--muted)" },
]);

/** Marks the place of an error, or none. */
const setError = StateEffect.define<(Range & { message: string }) | undefined>();

/** The mark of an error. It goes when the text changes there. */
const errorMark = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, transaction) {
    let next = marks.map(transaction.changes);
    transaction.changes.iterChangedRanges((from, to) => {
      next = next.update({ filter: (start, end) => end < from || start > to });
    });
    for (const effect of transaction.effects) {
      if (!effect.is(setError)) continue;
      const { value } = effect;
      next = value ? Decoration.set([Decoration.mark({ class: "cm-error", attributes: { title: value.message, "aria-invalid": "true" } }).range(value.from, value.to)]) : Decoration.none;
    }
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});

const statementLine = Decoration.line({ class: "cm-statement" });

/** Bars beside the lines of the statement that Ctrl+Enter runs. */
const currentStatement = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, transaction) {
    let next = marks.map(transaction.changes);
    if (!transaction.docChanged && !transaction.selection) return next;
    const { state } = transaction;
    if (state.doc.length > 200_000 || !state.selection.main.empty) return Decoration.none;
    const one = statementAt(state.doc.toString(), state.selection.main.head);
    if (!one) return Decoration.none;
    const lines = [];
    for (let line = state.doc.lineAt(one.from); ; line = state.doc.line(line.number + 1)) {
      lines.push(statementLine.range(line.from));
      if (line.to >= one.to || line.number === state.doc.lines) break;
    }
    next = Decoration.set(lines);
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});

export interface Handlers {
  database: () => string;
  run: () => void;
  runAll: () => void;
  explain: (analyze: boolean) => void;
  changed: () => void;
  leave: () => void;
}

export class Editor {
  readonly element: HTMLElement;
  private readonly view: EditorView;

  constructor(text: string, private readonly on: Handlers) {
    this.element = document.createElement("div");
    this.element.className = "editor";
    const root = this.element.attachShadow({ mode: "open" });
    this.view = new EditorView({ root, parent: root as unknown as Element, state: this.state(text) });
  }

  private state(text: string): EditorState {
    const { on } = this;
    const command = (action: () => void) => (): boolean => {
      action();
      return true;
    };
    return EditorState.create({
      doc: text,
      extensions: [
        Prec.highest(
          keymap.of([
            { key: "Mod-Enter", run: command(on.run) },
            { key: "Mod-Shift-Enter", run: command(on.runAll) },
            { key: "Alt-e", run: command(() => on.explain(false)) },
            { key: "Alt-a", run: command(() => on.explain(true)) },
            { key: "F6", run: command(on.leave) },
            { key: "Tab", run: acceptCompletion },
          ]),
        ),
        lineNumbers(),
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        closeBrackets(),
        highlightActiveLine(),
        highlightSelectionMatches(),
        search({ top: true }),
        matchMedia("(max-width: 699px)").matches ? EditorView.lineWrapping : [],
        errorMark,
        currentStatement,
        sql({ dialect: MySQL, upperCaseKeywords: true }),
        autocompletion({ override: [source(on.database)], activateOnTyping: true, maxRenderedOptions: 80, icons: true }),
        syntaxHighlighting(colours),
        look,
        placeholder("SELECT … (Ctrl+Enter runs the statement at the cursor)"),
        keymap.of([...closeBracketsKeymap, ...completionKeymap, ...searchKeymap, ...historyKeymap, ...defaultKeymap]),
        EditorView.contentAttributes.of({ "aria-label": "SQL editor", tabindex: "0", spellcheck: "false", autocapitalize: "off" }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) on.changed();
        }),
      ],
    });
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  /** Another text, with a history of its own. */
  open(text: string): void {
    this.view.setState(this.state(text));
    this.view.dispatch({ selection: { anchor: text.length } });
  }

  /** The selection, or else the statement at the cursor, with its place in the text. */
  chosen(): (Range & { text: string }) | undefined {
    const { main } = this.view.state.selection;
    if (!main.empty) {
      const text = this.view.state.sliceDoc(main.from, main.to);
      if (text.trim() !== "") return { from: main.from, to: main.to, text };
    }
    return statementAt(this.text, main.head);
  }

  insert(text: string): void {
    this.view.dispatch(this.view.state.replaceSelection(text));
    this.focus();
  }

  /** Puts a text behind all others, and the cursor into it. */
  add(text: string): void {
    const before = this.text.trimEnd();
    const insert = (before === "" ? "" : before.endsWith(";") ? "\n\n" : ";\n\n") + text;
    const end = before.length + insert.length;
    this.view.dispatch({ changes: { from: before.length, to: this.view.state.doc.length, insert }, selection: { anchor: end }, scrollIntoView: true });
    this.focus();
  }

  /** Marks the place of an error, moves the cursor there, and says its message where the pointer rests. */
  mark(place: Range | undefined, message: string): void {
    const to = place ? Math.min(this.view.state.doc.length, place.to) : 0;
    if (!place || place.from >= to) return this.unmark();
    this.view.dispatch({ effects: [setError.of({ from: place.from, to, message }), EditorView.scrollIntoView(place.from)], selection: { anchor: place.from } });
  }

  unmark(): void {
    this.view.dispatch({ effects: setError.of(undefined) });
  }

  find(): void {
    openSearchPanel(this.view);
  }

  focus(): void {
    this.view.focus();
  }
}
