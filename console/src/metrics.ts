/** Rates and percentiles from counters that only grow: pure arithmetic. */

/** Counts of statements by bucket number at one time, and the upper end of each bucket in picoseconds. */
export type Histogram = Map<number, { high: number; count: number }>;

/** The differences per second of a counter. A restart, where it falls, counts from 0. */
export function rates(seconds: readonly number[], values: readonly (number | null)[]): (number | null)[] {
  const out: (number | null)[] = [];
  for (let i = 1; i < seconds.length; i += 1) {
    const before = values[i - 1];
    const now = values[i];
    const span = seconds[i] - seconds[i - 1];
    if (before === null || now === null || span <= 0) out.push(null);
    else out.push((now >= before ? now - before : now) / span);
  }
  return out;
}

/** The time in milliseconds below which `part` (0…1) of the statements between two histograms stayed, or null if there were none. */
export function percentile(before: Histogram, now: Histogram, part: number): number | null {
  const growth: [number, number][] = [];
  let total = 0;
  for (const [bucket, { high, count }] of now) {
    const earlier = before.get(bucket)?.count ?? 0;
    const more = count >= earlier ? count - earlier : count;
    if (more > 0) growth.push([high, more]);
    total += Math.max(0, more);
  }
  if (total === 0) return null;
  growth.sort((a, b) => a[0] - b[0]);
  let sum = 0;
  for (const [high, more] of growth) {
    sum += more;
    if (sum >= part * total) return high / 1e9;
  }
  return growth[growth.length - 1][0] / 1e9;
}

/** At most `most` of the items, evenly, with the first and the last. */
export function thin<T>(items: readonly T[], most: number): T[] {
  if (items.length <= most) return [...items];
  const out: T[] = [];
  for (let i = 0; i < most; i += 1) out.push(items[Math.round((i * (items.length - 1)) / (most - 1))]);
  return out;
}

/** Seconds since 1970 of a time as SQL prints it, read as the clock of the browser. */
export function secondsOf(text: string): number {
  const match = /^(\d+)-(\d+)-(\d+)(?:[ T](\d+):(\d+):(\d+)(\.\d+)?)?/.exec(text);
  if (!match) return NaN;
  const [, year, month, day, hour, minute, second, fraction] = match;
  return new Date(+year, +month - 1, +day, +(hour ?? 0), +(minute ?? 0), +(second ?? 0)).getTime() / 1000 + Number(fraction ?? 0);
}
