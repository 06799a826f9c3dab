/** The browser and the system of a `user-agent` header, such as `Firefox on Linux`, or the header itself. */

/** In this order: the header of Edge also names Chrome, and the header of Chrome also names Safari. */
const browsers = [
  ["Edge", /\bEdg\w*\//],
  ["Firefox", /\bFirefox\//],
  ["Chrome", /\b(?:Headless)?Chrome\//],
  ["Safari", /\bSafari\//],
] as const;

const systems = [
  ["Windows", /Windows/],
  ["Android", /Android/],
  ["iOS", /iPhone|iPad/],
  ["macOS", /Mac OS X/],
  ["Linux", /Linux/],
] as const;

const nameIn = (list: readonly (readonly [string, RegExp])[], text: string): string | undefined =>
  list.find(([, pattern]) => pattern.test(text))?.[0];

export function browserName(userAgent: string): string {
  const names = [nameIn(browsers, userAgent), nameIn(systems, userAgent)].filter(Boolean);
  return names.length === 0 ? userAgent.slice(0, 60) : names.join(" · ");
}
