/** Laws: when the connection or the vendor fails, the client gets an error, and no image is requested a second time. */
import { expect } from "bun:test";
import type { ErrorKind } from "../../../contract/errors.ts";
import type { ImageFault } from "../fake-generator.ts";
import { stepsOf } from "../golden.ts";
import type { FakeVendor } from "../image-vendor.ts";
import { capabilitiesOf, type LawContext, type Operation } from "../law-gateway.ts";
import {
  expectRefusal,
  expectSuccess,
  generate,
  sendRequest,
  sendStreaming,
} from "../send-request.ts";
import { deepJson, type InjectedFault } from "../serve-vendor.ts";
import { imagesIn } from "./expect-response.ts";
import type { ImageLaw, ImageLaws } from "./law.ts";

/** The vendor has accepted the request, so it may be billed: the second target of the pair gets no request. */
async function expectFailure(
  context: LawContext,
  operation: Operation,
  kinds: readonly ErrorKind[],
): Promise<void> {
  const { fake, secondFake } = context;
  const requestOptions = { role: "pair", response_format: "b64_json" } as const;
  const outcome = await sendRequest(context, operation, requestOptions);
  if (outcome.status === 200 && fake.mayRecover()) {
    expect(imagesIn(expectSuccess(outcome))).toHaveLength(1);
  } else {
    const { kind, status } = expectRefusal(context, outcome);
    expect(kinds, outcome.text).toContain(kind);
    if (kind !== "moderation_blocked") expect([502, 504]).toContain(status);
  }
  expect(outcome.row.attempts).toBe(1);
  expect(fake.generator.requests).toHaveLength(1);
  expect(secondFake.exchanges).toEqual([]);
}

const withInjectedFault = (fault: InjectedFault, kinds: readonly ErrorKind[]): ImageLaw => ({
  holds: (context, operation) => {
    context.fake.injectFault(fault);
    return expectFailure(context, operation, kinds);
  },
});

const withImageFault = (fault: ImageFault, kinds: readonly ErrorKind[]): ImageLaw => ({
  holds: (context, operation) => {
    context.fake.generator.injectFault(fault);
    return expectFailure(context, operation, kinds);
  },
});

/** For vendors that return links. The others succeed as usual. */
const withLinkFault = (fault: ImageFault): ImageLaw => ({
  holds: async (context, operation) => {
    const { generator } = context.fake;
    generator.injectFault(fault);
    const requestOptions = { role: "pair", response_format: "b64_json" } as const;
    const outcome = await sendRequest(context, operation, requestOptions);
    if (generator.links() === 0) expect(outcome.status, outcome.text.slice(0, 300)).toBe(200);
    else expect([502, 504]).toContain(expectRefusal(context, outcome).status);
    expect(generator.requests).toHaveLength(1);
    expect(context.secondFake.exchanges).toEqual([]);
  },
});

const cases: ImageLaws = {
  "a connection that breaks after the request": {
    ...withInjectedFault("reset", ["upstream_unreachable"]),
    about: "vendor",
  },
  "an HTML page instead of a response": withInjectedFault("garbage", ["upstream_invalid"]),
  "a truncated response": withInjectedFault("truncated", [
    "upstream_invalid",
    "upstream_unreachable",
  ]),
  "a connection that breaks in the middle of an image": {
    ...withInjectedFault("cut", ["upstream_unreachable", "upstream_invalid"]),
    about: "vendor",
  },
  "an image that is not an image": withImageFault("not-an-image", ["upstream_invalid"]),
  // Some vendors return no image where their safety system withheld it.
  "a response without an image": withImageFault("nothing", [
    "upstream_invalid",
    "upstream_error",
    "moderation_blocked",
  ]),
  "a dead link": { ...withLinkFault("dead-link"), about: "vendor" },
  "a link to an HTML page": { ...withLinkFault("page-behind-link"), about: "vendor" },
  "a vendor that never responds": {
    ...withInjectedFault("hang", ["upstream_timeout"]),
    gateway: "short-timeout",
    about: "vendor",
  },
};

/** The vendor's JSON is parsed in one place of its adapter, or where all adapters of a stream parse it. */
const sameAdapter = ({ kind }: FakeVendor): string => kind;

const laws: ImageLaws = {
  ...Object.fromEntries(
    Object.entries(cases).map(([what, law]) => [
      `${what} is an error that the client gets, and no image is requested twice`,
      law,
    ]),
  ),

  "a field that is nested 100,000 levels deep does not hide the image beside it": {
    alike: sameAdapter,
    holds: async (context, operation) => {
      context.fake.injectFault("deep");
      context.fake.generator.injectFault("heavy");
      const response = await generate(context, operation, { response_format: "b64_json" });
      expect(imagesIn(response)).toHaveLength(1);
      expect(context.fake.generator.requests).toHaveLength(1);
    },
  },

  "a field that is nested 100,000 levels deep does not hide the image in a stream": {
    // Without a stream of the vendor, its response is read as for the law above.
    alike: (vendor, operation) =>
      capabilitiesOf(vendor, "http://127.0.0.1", operation).streams ? vendor.kind : "no stream",
    holds: async (context, operation) => {
      context.fake.injectFault("deep");
      context.fake.generator.injectFault("heavy");
      const { events, text } = await sendStreaming(context, operation, { partial_images: 0 });
      expect(events.at(-1)?.type, text.slice(0, 300)).toEndWith(".completed");
      expect(context.fake.generator.requests).toHaveLength(1);
    },
  },

  "a response of nothing but brackets is an upstream error": {
    alike: sameAdapter,
    holds: async (context, operation) => {
      // The first is not JSON. The second is, but has no image, which for some vendors means that the model failed.
      const bodies: readonly (readonly [string, readonly ErrorKind[]])[] = [
        [deepJson.slice(0, 100_000), ["upstream_invalid"]],
        [deepJson, ["upstream_invalid", "upstream_error"]],
      ];
      for (const [body, kinds] of bodies) {
        context.fake.injectFault({ body, headers: { "content-type": "application/json" } });
        const outcome = await sendRequest(context, operation, { response_format: "b64_json" });
        const { kind, status } = expectRefusal(context, outcome);
        expect(kinds).toContain(kind);
        expect(status).toBe(502);
      }
    },
  },

  "a status request may fail once, and the image is delivered nevertheless": {
    about: "vendor",
    holds: async (context, operation) => {
      context.fake.injectFault("failed-poll");
      const response = await generate(context, operation, { response_format: "b64_json" });
      expect(imagesIn(response)).toHaveLength(1);
      expect(context.fake.generator.requests).toHaveLength(1);
    },
  },
};

export const breakdowns: ImageLaws = Object.fromEntries(
  Object.entries(laws).map(([name, law]) => [name, { alike: stepsOf, ...law }]),
);
