/** The secrets of image links. */
import { expect, test } from "bun:test";
import { signLink, verifyLink } from "../../server/images/signed-link.ts";
import { openLinkSecrets } from "../../server/storage/files/link-secret.ts";
import { temporaryFolder } from "../harness.ts";

test("a link works on every replica with the same secret, after a rotation, and after VEXEL_SECRET was set", () => {
  using folder = temporaryFolder();
  using other = temporaryFolder();
  const open = (path: string, secret: string, previous: string[] = []) =>
    openLinkSecrets({ folder: path, secret, previous });
  const isValid = (link: string, secrets: readonly Uint8Array[]): boolean =>
    verifyLink("a.png", link, secrets, 0) === 1;
  const generated = signLink("a.png", 1, open(folder.path, "")[0]);
  const derived = signLink("a.png", 1, open(other.path, "one-secret-for-all")[0]);
  expect(isValid(generated, open(folder.path, "one-secret-for-all"))).toBe(true);
  expect(isValid(derived, open(folder.path, "one-secret-for-all"))).toBe(true);
  expect(isValid(derived, open(folder.path, "a-later-secret", ["one-secret-for-all"]))).toBe(true);
  expect(isValid(derived, open(folder.path, "a-later-secret"))).toBe(false);
  expect(isValid(generated, open(other.path, "one-secret-for-all"))).toBe(false);
});
