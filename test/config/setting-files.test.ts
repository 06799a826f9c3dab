/** Settings with credentials can be in files, such as mounted secrets. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { readSettings } from "../../server/settings.ts";
import { temporaryFolder } from "../harness.ts";

test("the URLs, the secret and the tokens are read from files, without the line break at their end", () => {
  using folder = temporaryFolder();
  const file = (name: string, text: string): string => {
    const path = join(folder.path, name);
    writeFileSync(path, text);
    return path;
  };
  const env = {
    DATABASE_URL_FILE: file("database", "postgres://a:b@c/d\n"),
    BLOB_URL_FILE: file("blob", "s3://a:b@c\n"),
    VEXEL_SECRET_FILE: file("secret", "a-secret-of-replicas\n"),
    VEXEL_ADMIN_TOKEN_FILE: file("admin", "a-token-of-scripts\n"),
    VEXEL_METRICS_TOKEN_FILE: file("metrics", "a-token-of-prometheus\n"),
  };
  expect(readSettings(env)).toMatchObject({
    DATABASE_URL: "postgres://a:b@c/d",
    BLOB_URL: "s3://a:b@c",
    VEXEL_SECRET: "a-secret-of-replicas",
    VEXEL_ADMIN_TOKEN: "a-token-of-scripts",
    VEXEL_METRICS_TOKEN: "a-token-of-prometheus",
  });
  expect(() => readSettings({ ...env, BLOB_URL: "s3://x" })).toThrow(
    "Set BLOB_URL or BLOB_URL_FILE, not both.",
  );
  expect(() => readSettings({ ...env, BLOB_URL_FILE: `${folder.path}/none` })).toThrow(
    "BLOB_URL_FILE cannot be read",
  );
  expect(() => readSettings({ VEXEL_METRICS_TOKEN_FILE: file("empty", "\n") })).toThrow(
    "VEXEL_METRICS_TOKEN_FILE: the file",
  );
  expect(() => readSettings({ BLOB_URL: "s3://x" })).toThrow("VEXEL_SECRET");
});

test("a URL whose password is not percent-encoded is refused without showing it", () => {
  for (const [name, url] of [
    ["DATABASE_URL", "postgres://user:pass/word@host/database"],
    ["REDIS_URL", "redis://:pass/word@host"],
  ] as const) {
    const read = () => readSettings({ [name]: url, VEXEL_SECRET: "a-secret-of-replicas" });
    expect(read).toThrow(`${name}=(a hidden value): must be a valid URL`);
    expect(read).not.toThrow("pass/word");
  }
});
