/** The size of the console when it is opened first: one language and the page that is shown. */
import { beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { type BundledFile, bundleConsole } from "../../server/console/bundle.ts";

const maxBytes = 200 * 1024;

let files: readonly (BundledFile & { readonly text: string })[] = [];
beforeAll(async () => {
  const built = await bundleConsole(join(import.meta.dir, "../../console/src"));
  files = built.map((file) => ({ ...file, text: new TextDecoder().decode(file.bytes) }));
});

const fileWith = (text: string): string => {
  const found = files.filter((file) => file.name.endsWith(".js") && file.text.includes(text));
  expect(found.map(({ name }) => name)).toHaveLength(1);
  return found[0]?.name ?? "";
};

/** The file and the files that it imports at once, not those that it imports when they are needed. */
function withImports(name: string, found: Set<string> = new Set()): Set<string> {
  if (found.has(name)) return found;
  found.add(name);
  const text = files.find((file) => file.name === name)?.text ?? "";
  for (const [, imported = ""] of text.matchAll(/(?:from|import)"\.\/([^"]+)"/g))
    withImports(imported, found);
  return found;
}

const gzippedBytes = (names: Iterable<string>): number =>
  [...new Set(names)]
    .map((name) => files.find((file) => file.name === name)?.bytes ?? new Uint8Array())
    .reduce((sum, bytes) => sum + Bun.gzipSync(new Uint8Array(bytes), { level: 9 }).length, 0);

/** A message of each language. */
const english = "Skip to content";
const chinese = "跳到正文";

test("the console loads one language and the overview with its charts with at most 200 KB", () => {
  const [main = ""] = files.map(({ name }) => name).filter((name) => name.startsWith("main-"));
  const atOnce = withImports(main);
  const [inEnglish, inChinese] = [fileWith(english), fileWith(chinese)];
  expect(atOnce).not.toContain(inEnglish);
  expect(atOnce).not.toContain(inChinese);
  const always = files
    .map(({ name }) => name)
    .filter((name) => /^(?:styles|first-paint)-|^(?:index\.html|icon\.svg)$/.test(name));
  for (const language of [inEnglish, inChinese]) {
    const overview = withImports(fileWith("as OverviewPage"));
    const charts = withImports(fileWith("as UsageCharts"));
    const shown = [...atOnce, ...withImports(language), ...overview, ...charts];
    const bytes = gzippedBytes([...always, ...shown]);
    expect(bytes).toBeLessThanOrEqual(maxBytes);
  }
});

test("the API reference takes at most 20 KB more than the other pages", () => {
  const [main = ""] = files.map(({ name }) => name).filter((name) => name.startsWith("main-"));
  const other = withImports(fileWith("as ModelPage"), withImports(main));
  const own = [...withImports(fileWith("as ReferencePage"))].filter((name) => !other.has(name));
  expect(gzippedBytes(own)).toBeLessThan(20 * 1024);
});
