/** Password hashes: their cost in production, and equal time for known and unknown names. */
import { expect, spyOn, test } from "bun:test";
import { Passwords } from "../../server/admin/sign-in/passwords.ts";

const password = "correct horse battery";

test("a password is stored as an argon2id hash of 64 MiB and two passes", async () => {
  const passwords = new Passwords();
  const hash = await passwords.hash(password);
  expect(hash).toStartWith("$argon2id$v=19$m=65536,t=2,p=1$");
  expect(await passwords.verify(password, hash)).toBe(true);
  expect(await passwords.verify("another password", hash)).toBe(false);
  expect(await passwords.verify(password, undefined)).toBe(false);
});

test("no password is hashed before the first sign-in, which then costs the same for a known and an unknown name", async () => {
  const lowCost = { memoryCost: 8, timeCost: 1 };
  const stored = await new Passwords(lowCost).hash(password);
  const hash = spyOn(Bun.password, "hash");
  try {
    for (const storedHash of [stored, undefined]) {
      hash.mockClear();
      const passwords = new Passwords(lowCost);
      expect(hash).toHaveBeenCalledTimes(0);
      await passwords.verify(password, storedHash);
      await passwords.verify(password, storedHash);
      expect(hash).toHaveBeenCalledTimes(1);
    }
  } finally {
    hash.mockRestore();
  }
});
