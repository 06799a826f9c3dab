/** Ids such as `file-0194…`: those of one prefix are in the order of their time, so a list is in the order of its ids. */

/** `prefix`: such as `file-`. `now`: Unix milliseconds. */
export const newId = (prefix: string, now: number): string =>
  prefix + Bun.randomUUIDv7("hex", now).replaceAll("-", "");
