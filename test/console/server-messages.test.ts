/** The texts of the gateway that the console translates: every id that the gateway can send has a translation. */
import { afterEach, expect, test } from "bun:test";
import { en } from "../../console/src/i18n/en.ts";
import { fieldErrorText } from "../../console/src/i18n/field-error-text.ts";
import { fieldHelp, serverText, setServerTexts } from "../../console/src/i18n/server-text.ts";
import { zhServer } from "../../console/src/i18n/zh-server/index.ts";
import { errorTable } from "../../contract/errors.ts";
import { message, messageTexts, validationIds } from "../../contract/messages/message.ts";
import { baseUrl } from "../../contract/schemas/upstreams.ts";
import { upstreamKinds } from "../../server/admin/upstream-kinds.ts";
import { settingsTable } from "../../server/settings.ts";
import { filesBelow, textOf } from "../laws/tree.ts";
import { valuesIn } from "./message-values.ts";

afterEach(() => setServerTexts(undefined, "en"));

const translations: Readonly<Record<string, string>> = zhServer.messages;

test("every message id that the gateway can send has a translation, and no other", () => {
  const ids = [
    ...Object.keys(messageTexts),
    ...validationIds,
    ...Object.keys(errorTable).map((kind) => `error.${kind}`),
  ];
  expect(Object.keys(translations).sort()).toEqual(ids.sort());
});

test("every translation has the values of the English text", () => {
  for (const [id, text] of Object.entries(messageTexts)) {
    const names = [...text.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
    expect([id, valuesIn(translations[id] ?? "", "zh")]).toEqual([id, [...new Set(names)].sort()]);
  }
});

test("every message id is used", () => {
  const folders = ["server", "contract/schemas", "console/src/features"];
  const sources = folders.flatMap(filesBelow).map(textOf).join("\n");
  // A step has its code in the ledger.
  const isUsed = (id: string): boolean =>
    sources.includes(`"${id}"`) || sources.includes(`"${id.replace(/^step_/, "")}"`);
  expect(Object.keys(messageTexts).filter((id) => !isUsed(id))).toEqual([]);
});

test("every error of the admin API has an id: none is made from an English text", () => {
  const withText = /new GatewayError\(\s*"\w+",\s*["`]/;
  expect(filesBelow("server/admin").filter((file) => withText.test(textOf(file)))).toEqual([]);
});

test("every field of every kind of upstream has a label, and its help is translated", async () => {
  const fields = (await upstreamKinds()).flatMap(({ kind, fields: all }) =>
    all.map((field) => ({ kind, ...field })),
  );
  // The key of a message has no other dot, so `auth.type` is `auth_type`.
  const names = [...new Set(fields.map(({ name }) => name.replace(".", "_")))].sort();
  const labeled = Object.keys(en).flatMap((key) => /^upstreamField\.(.*)/.exec(key)?.[1] ?? []);
  expect(labeled.sort()).toEqual(names);
  setServerTexts(zhServer, "zh");
  const english = new Map<string, string>();
  for (const { kind, name, description } of fields) {
    const help = fieldHelp(kind, name, description);
    expect([kind, name, help]).not.toEqual([kind, name, description]);
    // Two texts with one translation: the help of one kind would be shown for another.
    expect(english.get(help) ?? description).toBe(description);
    english.set(help, description);
  }
});

test("every setting is explained in Chinese", () => {
  expect(Object.keys(zhServer.settings).sort()).toEqual(Object.keys(settingsTable).sort());
});

test("an error is translated by its id and values, also of values that are messages", () => {
  const { text, i18n } = message("parameter_invalid", {
    param: "baseUrl",
    reason: message("url_scheme"),
  });
  expect(text).toBe("Invalid 'baseUrl': must start with http:// or https://");
  expect(serverText(text, i18n)).toBe(text);
  setServerTexts(zhServer, "zh");
  expect(serverText(text, i18n)).toBe("“baseUrl” 无效：必须以 http:// 或 https:// 开头");
  expect(serverText("text of a newer gateway", { id: "unknown", values: {} })).toBe(
    "text of a newer gateway",
  );
  expect(serverText("text without an id", undefined)).toBe("text without an id");
});

test("the message of a schema that the form has validated is translated", () => {
  const problem = baseUrl.safeParse("ftp://a").error?.issues[0]?.message ?? "";
  setServerTexts(zhServer, "zh");
  expect(fieldErrorText(problem)).toBe("必须以 http:// 或 https:// 开头");
});
