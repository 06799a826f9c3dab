/** The message catalogs of the console. */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { IntlMessageFormat } from "intl-messageformat";
import { en } from "../../console/src/i18n/en.ts";
import { type Language, translator } from "../../console/src/i18n/messages.ts";
import { serverText } from "../../console/src/i18n/server-text.ts";
import { zh } from "../../console/src/i18n/zh.ts";
import { zhServer } from "../../console/src/i18n/zh-server.ts";
import { errorTable } from "../../contract/errors.ts";
import { upstreamKinds } from "../../server/admin/upstream-kinds.ts";

const folder = join(import.meta.dir, "../../console/src");

/** The type of an element that is text, without a value. */
const literal = 0;

/** The names of the values of a message. Throws if the message is not valid. */
function valuesIn(message: string, language: Language): string[] {
  const names = new Set<string>();
  const visit = (elements: ReturnType<IntlMessageFormat["getAst"]>): void => {
    for (const element of elements) {
      if ("options" in element)
        for (const { value } of Object.values(element.options)) visit(value);
      if ("value" in element && element.type !== literal) names.add(element.value);
    }
  };
  visit(new IntlMessageFormat(message, language, undefined, { ignoreTag: true }).getAst());
  return [...names].sort();
}

test("every language has the same messages", () => {
  expect(Object.keys(zh).sort()).toEqual(Object.keys(en).sort());
});

test("every message is valid and names the values of the English message", () => {
  for (const [key, text] of Object.entries(en)) {
    const inChinese = valuesIn(zh[key as keyof typeof en], "zh");
    expect([key, inChinese]).toEqual([key, valuesIn(text, "en")]);
  }
});

test("every field of every kind of upstream has a label, and its hint is translated", () => {
  const fields = upstreamKinds().flatMap((kind) => kind.fields);
  // The key of a message has no other dot, so `auth.type` is `auth_type`.
  const names = [...new Set(fields.map(({ name }) => name.replace(".", "_")))].sort();
  const labeled = Object.keys(en).flatMap((key) => /^upstreamField\.(.*)/.exec(key)?.[1] ?? []);
  expect(labeled.sort()).toEqual(names);
  expect(fields.filter(({ description }) => !(description in zhServer))).toEqual([]);
});

test("the description of every error that the ledger can have is translated", () => {
  // Errors of the admin API, and of connections that send no valid request, are not in the ledger.
  const elsewhere =
    /^(not_signed_in|invalid_credentials|second_factor_required|password_change_required|permission_denied|invalid_csrf_token|entity_.*|version_conflict|invalid_http|headers_too_large)$/;
  const untranslated = Object.entries(errorTable).filter(
    ([kind, { description }]) => !elsewhere.test(kind) && !(description in zhServer),
  );
  expect(untranslated.map(([kind]) => kind)).toEqual([]);
});

/** Literals and templates, in which `{}` stands for a value. */
function textsIn(path: string, pattern: RegExp): string[] {
  const source = readFileSync(join(import.meta.dir, "../..", path), "utf8");
  return [...source.matchAll(pattern)].map(([, literal, template]) =>
    (literal ?? template ?? "").replaceAll(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, "{}"),
  );
}
const string = String.raw`(?:"((?:[^"\\]|\\.)*)"|\`((?:[^\`\\]|\\.)*)\`)`;
const errorTexts = new RegExp(
  String.raw`(?:new GatewayError\(\s*"\w+",|\bdetail:)\s*${string}`,
  "g",
);
const issueTexts = new RegExp(String.raw`(?:return|,)\s*(?=["\`][a-z][^"\`]* )${string}`, "g");
const filesIn = (path: string): string[] =>
  readdirSync(join(import.meta.dir, "../..", path), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => `${path}/${name}`);

const stepTexts = new RegExp(
  String.raw`(?:return|=>|,|=|[?:])\s*(?=["\`](?:[A-Z]|\$\{)[^"\`]*\.["\`])${string}`,
  "g",
);

test("every text of a connection test is translated", () => {
  const texts = filesIn("server/upstream/connection-test").flatMap((path) =>
    textsIn(path, stepTexts),
  );
  expect(texts.length).toBeGreaterThan(15);
  expect(texts.filter((text) => !(text in zhServer))).toEqual([]);
});

test("every error of the admin API, every condition that needs attention and every message of a shared schema is translated", () => {
  const texts = [
    ...filesIn("server/admin").flatMap((path) => textsIn(path, errorTexts)),
    ...filesIn("contract/schemas").flatMap((path) => textsIn(path, issueTexts)),
  ];
  expect(texts.length).toBeGreaterThan(60);
  // Texts that are joined from others are translated as a whole.
  const own = texts.filter(
    (text) => /\p{Letter}/u.test(text) && text !== "{} {}. Choose another id.",
  );
  expect(own.filter((text) => !(text.replaceAll('\\"', '"') in zhServer))).toEqual([]);
});

test("a text of the server is translated with its values, and an unknown text stays as it is", () => {
  const text = `Invalid 'baseUrl': must start with http:// or https://`;
  expect(serverText(text, "zh")).toBe("“baseUrl” 无效：必须以 http:// 或 https:// 开头");
  expect(serverText(text, "en")).toBe(text);
  expect(serverText("something else", "zh")).toBe("something else");
});

test("a number of 1 has the singular, and a large number is grouped", () => {
  const hours = [1, 2].map((count) => translator(en, "en")("keys.overlap.hours", { count }));
  expect(hours).toEqual(["1 hour", "2 hours"]);
  const texts = { count: 12_345 };
  expect(translator(en, "en")("embeddings.textCount", texts)).toBe("Texts: 12,345");
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
