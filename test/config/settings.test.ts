/** The messages of invalid settings. */
import { expect, test } from "bun:test";
import { readSettings, settingsTable } from "../../server/settings.ts";
import { unknownSettings } from "../../server/unknown-settings.ts";

test.each([
  ["PORT", "99999", 'PORT="99999": must be at most 65535'],
  ["VEXEL_IMAGE_TTL", "0", 'VEXEL_IMAGE_TTL="0": must be at least 1'],
  ["VEXEL_LOG_FORMAT", "xml", 'VEXEL_LOG_FORMAT="xml": must be one of auto, text, json'],
])("%s=%s is refused in the words of the configuration file", (name, value, message) => {
  expect(() => readSettings({ [name]: value })).toThrow(message);
});

// Zod's own texts name types and operators, such as "Too big: expected number to be <=65535".
test("no setting is refused with a message of Zod", () => {
  for (const name of Object.keys(settingsTable)) {
    for (const value of ["-1", "1e300", "0.5", "\u0000", "x".repeat(5000)]) {
      let message = "";
      try {
        readSettings({ [name]: value });
      } catch (error) {
        message = String(error);
      }
      expect(message).not.toMatch(/Too (big|small)|Invalid |expected /);
    }
  }
});

test("a setting that is a number but not a whole one is refused with the words whole number", () => {
  expect(() => readSettings({ PORT: "1.5" })).toThrow('PORT="1.5": must be a whole number.');
  expect(() => readSettings({ PORT: "abc" })).toThrow('PORT="abc": must be a number.');
});

test("for a misspelled setting, the setting with the most similar name is suggested", () => {
  expect(unknownSettings({ VEXEL_IMAGE_TTTL: "1" })).toEqual([
    { name: "VEXEL_IMAGE_TTTL", nearest: "VEXEL_IMAGE_TTL" },
  ]);
});

test("a read replica without its primary is refused", () => {
  expect(() => readSettings({ DATABASE_READ_URL: "postgres://standby/vexel" })).toThrow(
    "DATABASE_READ_URL is set without DATABASE_URL.",
  );
});

test("the URL of sentinels must be complete, and its password stays hidden", () => {
  const read = (url: string) => () => readSettings({ REDIS_URL: url });
  expect(read("redis+sentinel://host1:26379,[::1]/mymaster/1")).not.toThrow();
  expect(read("rediss+sentinel://user:pass@host/mymaster?sentinel_password=a%26b")).not.toThrow();
  for (const url of [
    "redis+sentinel://host1:26379,host2:26379",
    "redis+sentinel://host1:26379,/mymaster",
    "redis+sentinel://:pass/word@host1:26379/mymaster",
    "redis+sentinel://host1:pass-word/mymaster",
  ]) {
    expect(read(url)).toThrow("with Sentinel, name the primary");
    expect(read(url)).not.toThrow(/pass.word/);
  }
});
