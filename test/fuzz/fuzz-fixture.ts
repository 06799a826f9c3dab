/** Shared by the fuzz tests: a gateway with all kinds of upstreams, and the invariants of every response. */
import { expect } from "bun:test";
import fc from "fast-check";
import { type ErrorDefinition, errorTable } from "../../contract/errors.ts";
import { rangeCodes } from "../../server/lib/out-of-range.ts";
import { type GatewayWithFake, startGatewayWithFake } from "../http/gateway-fixture.ts";
import type { SentError } from "./expect-validation-error.ts";

/** The same on every run; set another one to explore further: VEXEL_FUZZ_SEED=1 npm test -- test/fuzz */
const seed = Number(process.env.VEXEL_FUZZ_SEED ?? 20_261_115);
/** How long each property runs. */
const seconds = Number(process.env.VEXEL_FUZZ_SECONDS ?? 0.3);

/**
 * A counterexample is shrunk within the time that is left. The first case has no time limit: on a busy machine the time
 * may be over before it ends, and a run without a case shows nothing.
 */
export async function checkProperty<T>(property: fc.IAsyncProperty<T>): Promise<void> {
  const interruptAfterTimeLimit = seconds * 1000;
  const first = await fc.check(property, { seed, numRuns: 1, endOnFailure: true });
  const run = first.failed
    ? first
    : await fc.check(property, { seed, numRuns: 100_000, interruptAfterTimeLimit });
  if (run.counterexample === null && run.interrupted) return;
  // The message has the seed, the path to the counterexample and the counterexample itself.
  if (run.failed)
    throw new Error(await fc.asyncDefaultReportMessage(run), { cause: run.errorInstance });
}

export const startTarget = (): GatewayWithFake =>
  startGatewayWithFake({
    settings: {
      VEXEL_MAX_BODY_BYTES: "200000",
      VEXEL_MAX_FILE_BYTES: "300000",
      VEXEL_MAX_UPLOAD_BYTES: "500000",
      VEXEL_BODY_TIMEOUT: "2",
      VEXEL_EMBEDDINGS_TIMEOUT: "20",
      VEXEL_IMAGES_TIMEOUT: "20",
    },
  });

const outOfRange = rangeCodes.map((code) => ({ ...errorTable.invalid_value, code }));
const table = new Set(
  (Object.entries(errorTable) as [string, ErrorDefinition][])
    // A defect is not an expected error, although it is in the error table.
    .filter(([name]) => name !== "internal")
    .map(([, definition]) => definition)
    .concat(outOfRange)
    .map(({ status, type, code }) => JSON.stringify([status, type, code])),
);

/**
 * Only declared errors, always in OpenAI's shape and with a request ID; and a response that is sent as JSON is JSON.
 * Returns the error. Undefined if the response has none.
 */
export async function expectDefined(
  response: Response,
  { fake }: GatewayWithFake,
): Promise<SentError | undefined> {
  const { status, headers } = response;
  expect(headers.get("x-request-id")).toMatch(/^req_[0-9a-f]{32}$/);
  const text = await response.text();
  if (status < 300) {
    const type = headers.get("content-type") ?? "";
    if (text !== "" && type.startsWith("application/json")) JSON.parse(text);
    return undefined;
  }
  expect(status).not.toBe(500);
  // A response to HEAD has no body.
  if (text === "") return undefined;
  expect(headers.get("content-type")).toBe("application/json");
  const { error, ...others } = JSON.parse(text) as { error: Record<string, unknown> };
  expect(others).toEqual({});
  const { message, type, param, code, moderation_details: _, ...extra } = error;
  expect(extra).toEqual({});
  expect(message).toBeString();
  expect(type).toBeString();
  expect(param === null || typeof param === "string").toBe(true);
  expect(code === null || typeof code === "string").toBe(true);
  // An upstream's own error keeps its status, type and code.
  const kept = fake.requests.some((request) => request.status === status);
  expect(kept || table.has(JSON.stringify([status, type, code])), text).toBe(true);
  return { message, param, code } as SentError;
}

/** At the end: no defect was logged, and the next client is served. */
export async function expectUnharmed({ gateway, fake }: GatewayWithFake): Promise<void> {
  fake.clear();
  const defects = gateway
    .log()
    .split("\n")
    .filter((line) => /"event":"internal-error"|"error":"internal"/.test(line));
  expect(defects).toEqual([]);
  // A rate-limited target is rightly left to cool down.
  gateway.resetTargets();
  const response = await gateway.post("/v1/embeddings", {
    model: "text-embedding-3-small",
    input: "still there?",
  });
  expect(response.status).toBe(200);
  await response.text();
}
