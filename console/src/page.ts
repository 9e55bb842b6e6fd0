/** What pages and the shell know of each other. */

export interface Page {
  element: HTMLElement;
  /** The page is shown. */
  enter?: () => void;
  /** Another page is shown. */
  leave?: () => void;
  /** Whether it goes on with F6: from its first part to its second. */
  nextPart?: () => void;
}

export interface Command {
  title: string;
  keys?: string;
  group: string;
  run: () => void;
}
