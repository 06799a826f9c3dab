/** The message catalogs of the console. */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { en } from "../../console/i18n/en.ts";
import { zh } from "../../console/i18n/zh.ts";

const folder = join(import.meta.dir, "../../console");
const placeholders = (text: string): string[] => (text.match(/\{\w+\}/g) ?? []).sort();

test("every language has the same messages", () => {
  expect(Object.keys(zh).sort()).toEqual(Object.keys(en).sort());
});

test("every translation has the placeholders of the English message", () => {
  for (const [key, text] of Object.entries(en))
    expect([key, placeholders(zh[key as keyof typeof en])]).toEqual([key, placeholders(text)]);
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
