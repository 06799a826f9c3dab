/** Stored secrets are encrypted: only the right key, the whole envelope and the right record decrypt them. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DecryptionError, SecretBox } from "../../server/storage/encrypt-secret.ts";
import { StoreError } from "../../server/storage/sqlite/open-database.ts";
import { temporaryFolder } from "../harness.ts";
import { awkwardTexts } from "./laws/backend.ts";

const nowhere = "/nowhere";
const box = (secret: string, previous: readonly string[] = [], folder = nowhere): SecretBox =>
  new SecretBox({ folder, secret, previous });
const context = "upstream/openai/apiKey";
const first = box("first-secret-0123456789");

test("a decrypted secret equals the original, and two encryptions of it differ", () => {
  for (const text of [...awkwardTexts, "k".repeat(100_000)]) {
    const envelope = first.encrypt(text, context);
    expect(first.decrypt(envelope, context)).toBe(text);
    expect(first.encrypt(text, context)).not.toBe(envelope);
  }
  expect(first.encrypt("sk-live-123456", context)).not.toContain("sk-live");
});

test("a secret cannot be decrypted with another key, and the message says what to do", () => {
  const envelope = first.encrypt("sk-live-123456", context);
  const second = box("second-secret-0123456789");
  expect(() => second.decrypt(envelope, context)).toThrow("VEXEL_SECRET_PREVIOUS");
  expect(() => second.decrypt(envelope, context)).toThrow(DecryptionError);
});

test("an envelope that was truncated at any length is refused", () => {
  const envelope = first.encrypt("sk-live-123456", context);
  for (let length = 0; length < envelope.length; length++) {
    expect(() => first.decrypt(envelope.slice(0, length), context)).toThrow(DecryptionError);
  }
});

test("an envelope with any changed character is refused", () => {
  const envelope = first.encrypt("sk-live-123456", context);
  for (let at = 0; at < envelope.length - 1; at++) {
    const other = envelope[at] === "A" ? "B" : "A";
    const changed = envelope.slice(0, at) + other + envelope.slice(at + 1);
    expect(() => first.decrypt(changed, context)).toThrow(DecryptionError);
  }
  expect(() => first.decrypt(`${envelope}.x`, context)).toThrow(DecryptionError);
});

test("an envelope that was copied to another entity is refused", () => {
  const envelope = first.encrypt("sk-live-123456", context);
  expect(() => first.decrypt(envelope, "upstream/attacker/apiKey")).toThrow(DecryptionError);
});

test("after a rotation, secrets of the earlier key are readable and recognized as outdated", () => {
  const envelope = first.encrypt("sk-live-123456", context);
  const rotated = box("second-secret-0123456789", ["first-secret-0123456789"]);
  expect(rotated.decrypt(envelope, context)).toBe("sk-live-123456");
  expect(rotated.isCurrent(envelope)).toBe(false);
  const renewed = rotated.encrypt("sk-live-123456", context);
  expect(rotated.isCurrent(renewed)).toBe(true);
  expect(box("second-secret-0123456789").decrypt(renewed, context)).toBe("sk-live-123456");
});

test("without VEXEL_SECRET a key file with mode 600 is generated at the first encryption", () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "secret.key");
  const generated = box("", [], folder.path);
  expect(() => generated.decrypt(first.encrypt("a", context), context)).toThrow(DecryptionError);
  expect(existsSync(path)).toBe(false);
  const envelope = generated.encrypt("sk-live-123456", context);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readFileSync(path)).toHaveLength(32);
  expect(box("", [], folder.path).decrypt(envelope, context)).toBe("sk-live-123456");
  // From the generated key to VEXEL_SECRET: the file still decrypts.
  const configured = box("first-secret-0123456789", [], folder.path);
  expect(configured.decrypt(envelope, context)).toBe("sk-live-123456");
  expect(configured.isCurrent(envelope)).toBe(false);
});

test("a damaged key file is refused, not replaced", () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "secret.key");
  writeFileSync(path, "short");
  expect(() => box("", [], folder.path).encrypt("a", context)).toThrow(StoreError);
  expect(readFileSync(path, "utf8")).toBe("short");
});
