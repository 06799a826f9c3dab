/** The drawing program works in a process of its own. */
import { afterAll, expect, test } from "bun:test";
import { GatewayError } from "../../server/std/gateway-error.ts";
import type { GenerationQuery, ImageReply } from "../../server/upstream/contract.ts";
import { createStudio } from "../../server/upstream/local/sketch/studio.ts";

const studio = createStudio({ idleMs: 60_000 });
afterAll(() => studio.close());

const target = { upstream: { id: "s", kind: "sketch", headers: {}, options: {} }, model: "s" };
const query = (prompt: string, more: Partial<GenerationQuery> = {}): GenerationQuery => ({
  model: "vexel-sketch",
  prompt,
  stream: false,
  options: { size: "256x256" },
  rest: {},
  ...more,
});
const never = new AbortController().signal;

test("others are served while a large picture is drawn", async () => {
  await studio.generations(query("a boat"), target, never);
  let last = performance.now();
  let longest = 0;
  const ticking = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 5);
  const large = { size: "2048x2048", quality: "high" };
  const reply = await studio.generations(
    query("an oil painting of a city", { options: large }),
    target,
    never,
  );
  clearInterval(ticking);
  expect(reply.kind).toBe("whole");
  // Drawn here, it would have held up everyone for most of a second.
  expect(longest).toBeLessThan(300);
});

test("a stream's pieces come across in order, and a refusal keeps its field", async () => {
  const options = { size: "256x256", partial_images: 2 };
  const reply = await studio.generations(query("a fox", { stream: true, options }), target, never);
  const types: string[] = [];
  for await (const { type } of (reply as Extract<ImageReply, { kind: "stream" }>).events) {
    types.push(type);
  }
  expect(types).toEqual(["partial", "partial", "completed"]);
  const refused = studio.generations(query("a fox", { options: { size: "1x1" } }), target, never);
  const error = await refused.catch((thrown: unknown) => thrown);
  if (!(error instanceof GatewayError)) throw error;
  expect([error.fault, error.details.param]).toEqual(["invalid_value", "size"]);
});

test("whoever hangs up ends the drawing", async () => {
  const hangUp = new AbortController();
  const options = { size: "2048x2048", n: 8, quality: "max" };
  const drawing = studio.generations(query("a castle, oil", { options }), target, hangUp.signal);
  setTimeout(() => hangUp.abort(new GatewayError("client_closed", "gone")), 200);
  const began = performance.now();
  const error = await drawing.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(GatewayError);
  expect(performance.now() - began).toBeLessThan(3000);
});
