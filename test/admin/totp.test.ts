/** One-time passwords against the test vectors of RFC 6238. */
import { expect, test } from "bun:test";
import {
  matchingStep,
  newRecoveryCodes,
  newTotpSecret,
  normalizedCode,
  totpUri,
} from "../../server/admin/sign-in/totp.ts";
import { totpCode } from "./totp-code.ts";

/** RFC 6238, appendix B: the secret is the ASCII text 12345678901234567890. The RFC has eight digits, and we use six. */
const secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
const vectors: Readonly<Record<number, string>> = {
  59: "94287082",
  1111111109: "07081804",
  1111111111: "14050471",
  1234567890: "89005924",
  2000000000: "69279037",
  20000000000: "65353130",
};

test("codes are those of RFC 6238", () => {
  for (const [seconds, code] of Object.entries(vectors)) {
    expect(totpCode(secret, Number(seconds) * 1000)).toBe(code.slice(-6));
  }
});

test("a code of the step before or after is accepted, and no other", () => {
  const at = 1_234_567_890_000;
  const step = Math.floor(at / 30_000);
  const found = [-2, -1, 0, 1, 2].map((skew) =>
    matchingStep(totpCode(secret, at + skew * 30_000), secret, at, 0),
  );
  expect(found).toEqual([undefined, step - 1, step, step + 1, undefined]);
});

test("a code of a step that was used, or of an earlier one, is refused", () => {
  const at = 1_234_567_890_000;
  const step = Math.floor(at / 30_000);
  expect(matchingStep(totpCode(secret, at), secret, at, step)).toBeUndefined();
  expect(matchingStep(totpCode(secret, at - 30_000), secret, at, step)).toBeUndefined();
});

test("a secret has 160 bits, and its URI names the gateway and the user", () => {
  expect(newTotpSecret()).toMatch(/^[A-Z2-7]{32}$/);
  expect(totpUri("ABC", "Vexel", "Ada & Bob")).toBe(
    "otpauth://totp/Vexel:Ada%20%26%20Bob?secret=ABC&issuer=Vexel",
  );
});

test("recovery codes are different, and are accepted as people type them", () => {
  const codes = newRecoveryCodes();
  expect(new Set(codes).size).toBe(10);
  for (const code of codes) expect(code).toMatch(/^([A-Z2-7]{4}-){3}[A-Z2-7]{4}$/);
  const [first = ""] = codes;
  expect(normalizedCode(` ${first.toLowerCase().replaceAll("-", " ")} `)).toBe(
    first.replaceAll("-", ""),
  );
});
