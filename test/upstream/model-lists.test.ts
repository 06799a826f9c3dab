/** The list of models of a vendor that replaces unknown models: when it is read, and which list counts. */
import { expect, test } from "bun:test";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { classifyOutcome } from "../../server/routing/health/classify-outcome.ts";
import type { ImageAdapter, ImageRequestContext } from "../../server/upstream/adapter.ts";
import { mayBeBilled } from "../../server/upstream/may-have-been-billed.ts";
import { createModelLists } from "../../server/upstream/model-lists.ts";
import type { SendAuthenticated } from "../../server/upstream/poll-operation.ts";

const minuteMs = 60_000;

/** A vendor whose list a test sets. Undefined if it cannot be read. */
function arrange() {
  const vendor = { ids: ["known"] as readonly string[] | undefined, reads: 0 };
  const clock = { now: 0 };
  const errors: GatewayError[] = [];
  const upstream = { id: "vendor", kind: "venice" };
  const models = { request: () => ({}), read: () => vendor.ids } as unknown as NonNullable<
    ImageAdapter["models"]
  >;
  const send = (async () => {
    vendor.reads++;
    if (!vendor.ids)
      throw new GatewayError("upstream_error", "The upstream failed (status 500).", {});
    return { json: async () => ({}) };
  }) as unknown as SendAuthenticated;
  const confirm = createModelLists(() => clock.now);
  const check = async (model: string, signal = new AbortController().signal) => {
    const context = { target: { upstream, model }, query: { model } };
    try {
      await confirm(models, context as unknown as ImageRequestContext, send, signal);
      return "confirmed";
    } catch (error) {
      errors.push(error as GatewayError);
      return (error as GatewayError).kind;
    }
  };
  return { vendor, clock, check, errors };
}

test("the earlier list is used if the list cannot be read again, and is read again after a minute", async () => {
  const { vendor, clock, check } = arrange();
  expect(await check("known")).toBe("confirmed");
  vendor.ids = undefined;
  clock.now += 60 * minuteMs;
  expect([await check("known"), await check("known")]).toEqual(["confirmed", "confirmed"]);
  expect(await check("unknown")).toBe("model_not_found");
  expect(vendor.reads).toBe(2);
  vendor.ids = ["unknown"];
  clock.now += minuteMs;
  expect(await check("known")).toBe("model_not_found");
  expect(vendor.reads).toBe(3);
});

test("the list is read once an hour for a model that it has, and once a minute for one that it lacks", async () => {
  const { vendor, clock, check } = arrange();
  await check("known");
  await check("new");
  clock.now += minuteMs - 1;
  await check("new");
  expect(vendor.reads).toBe(1);
  vendor.ids = ["known", "new"];
  clock.now += 1;
  expect([await check("known"), await check("new")]).toEqual(["confirmed", "confirmed"]);
  clock.now += 59 * minuteMs;
  await check("known");
  expect(vendor.reads).toBe(2);
});

test("a list that was never read is an error that counts neither as billed nor against the target", async () => {
  const { vendor, check, errors } = arrange();
  vendor.ids = undefined;
  expect(await check("known")).toBe("upstream_error");
  const [error] = errors as [GatewayError];
  expect(error.message).toContain("list of models");
  expect(mayBeBilled(error)).toBe(false);
  const ended = { aborted: false, cutOff: false, durationMs: 1, timeoutMs: 1, abandonedMs: 1 };
  expect(classifyOutcome(error, ended)).toEqual({ kind: "neutral" });
  vendor.ids = ["known"];
  expect(await check("known")).toBe("confirmed");
});

test("a client that disconnects does not end the read for other clients", async () => {
  const { vendor, check } = arrange();
  const client = new AbortController();
  const first = check("known", client.signal);
  const second = check("known");
  client.abort(new GatewayError("client_closed", "The client closed the connection."));
  expect(await Promise.all([first, second])).toEqual(["client_closed", "confirmed"]);
  expect(vendor.reads).toBe(1);
});
