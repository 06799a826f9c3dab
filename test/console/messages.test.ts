/** The message catalogs of the console. */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { IntlMessageFormat } from "intl-messageformat";
import { en as atStart } from "../../console/src/i18n/en.ts";
import { enAlerts } from "../../console/src/i18n/en-alerts.ts";
import { enAudit } from "../../console/src/i18n/en-audit.ts";
import { enManyProjects } from "../../console/src/i18n/en-many-projects.ts";
import { translator } from "../../console/src/i18n/messages.ts";
import { zh as zhAtStart } from "../../console/src/i18n/zh.ts";
import { zhAlerts } from "../../console/src/i18n/zh-alerts.ts";
import { zhAudit } from "../../console/src/i18n/zh-audit.ts";
import { zhManyProjects } from "../../console/src/i18n/zh-many-projects.ts";
import { zhServer } from "../../console/src/i18n/zh-server/index.ts";
import { valuesIn } from "./message-values.ts";

const folder = join(import.meta.dir, "../../console/src");
/** With those that only their page loads. */
const en = { ...atStart, ...enAlerts, ...enAudit, ...enManyProjects };
const zh = { ...zhAtStart, ...zhAlerts, ...zhAudit, ...zhManyProjects };

test("every language has the same messages", () => {
  expect(Object.keys(zh).sort()).toEqual(Object.keys(en).sort());
});

test("every message is valid and names the values of the English message", () => {
  for (const [key, text] of Object.entries(en)) {
    const inChinese = valuesIn(zh[key as keyof typeof en], "zh");
    expect([key, inChinese]).toEqual([key, valuesIn(text, "en")]);
  }
});

// The console is bundled without the parser of these patterns (server/console/bundle.ts).
test("no message has a number or date pattern", () => {
  const messages = { ...en, ...zh, ...zhServer.messages };
  expect(Object.entries(messages).filter(([, text]) => text.includes("::"))).toEqual([]);
});

test("a number of 1 has the singular, and a large number is grouped", () => {
  const hours = [1, 2].map((count) => translator(atStart, "en")("keys.overlap.hours", { count }));
  expect(hours).toEqual(["1 hour", "2 hours"]);
  const texts = { count: 12_345 };
  expect(translator(atStart, "en")("embeddings.textCount", texts)).toBe("12,345 texts");
});

test("Chinese texts have a space beside Latin letters and digits, and Chinese punctuation", () => {
  // Text in parentheses or after a colon, or none.
  const endings = new Set(["code", "message"]);
  const texts = Object.entries({
    ...zh,
    ...zhServer.messages,
    ...zhServer.fieldHelp,
    ...zhServer.settings,
  });
  const shown = texts.map(([key, text]) => {
    const values = Object.fromEntries(
      valuesIn(text, "zh").map((name) => [name, endings.has(name) ? "" : 9]),
    );
    const format = new IntlMessageFormat(text, "zh", undefined, { ignoreTag: true });
    return `${key}: ${String(format.format(values))}`;
  });
  const withoutSpace = /\p{Script=Han}[A-Za-z0-9]|[A-Za-z0-9]\p{Script=Han}/u;
  const latinPunctuation = /\p{Script=Han}[,;:!?.()]|[,;:!?)]\p{Script=Han}/u;
  const found = shown.filter((text) => withoutSpace.test(text) || latinPunctuation.test(text));
  expect(found).toEqual([]);
});

test("every message is used, and every page takes its text from the catalog", () => {
  const sources = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name) && !name.startsWith("i18n"))
    .map((name) => readFileSync(join(folder, name), "utf8"))
    .join("\n");
  const isUsed = (key: string): boolean => {
    // Keys that are composed, such as `role.${role}`, are found by the part before the value.
    const prefix = key.slice(0, key.lastIndexOf(".") + 1);
    return sources.includes(`"${key}"`) || sources.includes(`\`${prefix}\${`);
  };
  expect(Object.keys(en).filter((key) => !isUsed(key))).toEqual([]);
});

/** Names that are the same in every language, symbols, and names of fields in lists. */
const untranslated = /^(?:Vexel|CSV|URL|[a-z]+[A-Za-z_]*|[^\p{Letter}]*)$/u;
const shownProperties = ["aria-label", "title", "placeholder", "alt", "label", "header", "hint"];

/**
 * Text that a component shows and that is not from the catalog. The transpiler puts each child on a line of its own.
 */
function literalsIn(source: string): string[] {
  const script = new Bun.Transpiler({ loader: "tsx" }).transformSync(source);
  const properties = shownProperties.join("|");
  const patterns = [
    /^\s*(?:children: )?"((?:[^"\\]|\\.)*)",?$/gm,
    /^\s*(?:children: )?`([^`]*)`,?$/gm,
    new RegExp(`^\\s*"?(?:${properties})"?: "((?:[^"\\\\]|\\\\.)*)",?$`, "gm"),
  ];
  return patterns
    .flatMap((pattern) => [...script.matchAll(pattern)].map(([, text = ""]) => text))
    .map((text) => text.replaceAll(/\$\{[^}]*\}/g, ""))
    .filter((text) => !untranslated.test(text));
}

test("no component has a text that is not from the catalog", () => {
  const found = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".tsx"))
    .flatMap((name) =>
      literalsIn(readFileSync(join(folder, name), "utf8")).map((text) => `${name}: ${text}`),
    );
  expect(found).toEqual([]);
  const source = `const A = () => <p title="Tip">Some text {1} <b>{\`and \${1} more\`}</b></p>;`;
  expect(literalsIn(source)).toEqual(["Some text ", "and  more", "Tip"]);
});
