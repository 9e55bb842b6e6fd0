/** Which rows and columns of a large table are to be drawn: pure arithmetic. */

export interface Span {
  /** The first one, from 0. */
  first: number;
  /** The one behind the last. */
  end: number;
}

/** Rows of equal height that a viewport shows, with `more` beyond each edge. */
export function rowsInView(top: number, height: number, rowHeight: number, count: number, more: number): Span {
  if (count <= 0 || rowHeight <= 0) return { first: 0, end: 0 };
  const first = Math.max(0, Math.min(count, Math.floor(top / rowHeight) - more));
  const end = Math.min(count, Math.max(first, Math.ceil((top + height) / rowHeight) + more));
  return { first, end };
}

/** Left edges of columns: one more than there are columns. */
export function edges(widths: readonly number[]): number[] {
  const all = [0];
  for (const width of widths) all.push(all[all.length - 1] + width);
  return all;
}

/** Columns that a viewport shows; `lefts` is of `edges`. */
export function columnsInView(left: number, width: number, lefts: readonly number[]): Span {
  const count = lefts.length - 1;
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lefts[middle + 1] <= left) low = middle + 1;
    else high = middle;
  }
  const first = low;
  let end = first;
  while (end < count && lefts[end] < left + width) end += 1;
  return { first, end };
}

/** Where a table of `total` pixels is, whose element has `tall` of them at most: its offset for a scroll offset. */
export function toTable(scroll: number, viewport: number, total: number, tall: number): number {
  return total <= tall ? scroll : (scroll * (total - viewport)) / (tall - viewport);
}

/** The scroll offset for an offset in the table: the inverse of `toTable`. */
export function toScroll(offset: number, viewport: number, total: number, tall: number): number {
  return total <= tall ? offset : (offset * (tall - viewport)) / (total - viewport);
}

/** The scroll offset that brings a span of pixels into view, or the present one if it is in view. */
export function scrollTo(present: number, viewport: number, from: number, to: number): number {
  if (from < present) return from;
  if (to > present + viewport) return to - viewport;
  return present;
}
