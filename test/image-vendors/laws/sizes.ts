/** Laws: the image has the requested size, or the nearest aspect ratio with a header, or the error lists the sizes. */
import { expect } from "bun:test";
import { sniff } from "../../fake-upstream/image-info.ts";
import type { FakeVendor, ParsedRequest } from "../image-vendor.ts";
import { capabilitiesOf, type LawContext, type Operation } from "../law-gateway.ts";
import { expectRefusal, expectSuccess, sendRequest } from "../send-request.ts";
import { expectConsistent, imagesIn, namesIn } from "./expect-response.ts";
import type { ImageLaws } from "./law.ts";

const aspectRatioOf = (text: string): number => {
  const [across = 1, down = 1] = text.split(/[x:*]/).map(Number);
  return across / down;
};

/** In proportion: 2:1 is as far from 1:1 as 1:2 is. */
const distance = (text: string, size: string): number =>
  Math.abs(Math.log(aspectRatioOf(text) / aspectRatioOf(size)));

/** No other size or aspect ratio of the vendor is nearer. */
function expectNearest(
  { size, aspect }: ParsedRequest,
  requested: string,
  offered: readonly string[],
): void {
  const got = aspect ?? size;
  expect(got, "the vendor got neither a size nor an aspect ratio").toBeDefined();
  const least = Math.min(...offered.map((offer) => distance(offer, requested)));
  expect(distance(got ?? "1:1", requested)).toBeCloseTo(least, 6);
}

async function expectSize(context: LawContext, operation: Operation, size: string): Promise<void> {
  const prompt = `an otter of ${size}`;
  const outcome = await sendRequest(context, operation, {
    size,
    prompt,
    response_format: "b64_json",
  });
  if (outcome.status !== 200) {
    const { error, status } = expectRefusal(context, outcome);
    expect({ status, param: error.param }, error.message).toEqual({ status: 400, param: "size" });
    expect(error.message, "it does not list the supported sizes").toMatch(/\d[x:]\d|\d/);
    return;
  }
  const response = expectSuccess(outcome);
  const images = imagesIn(response);
  expectConsistent(response, images);
  const parsed = context.fake.generator.requests.find((request) => request.prompt === prompt);
  if (parsed?.size === size) {
    const { width, height } = sniff(images[0] ?? new Uint8Array()) ?? {};
    expect(`${width}x${height}`).toBe(size);
    return;
  }
  expect(namesIn(outcome, "vexel-adapted")).toContain("size");
  const { sizes } = context.capabilities(operation);
  if (sizes === "any" || "rule" in sizes) throw new Error("the vendor could have got the size");
  expectNearest(parsed ?? { prompt, n: 1 }, size, "list" in sizes ? sizes.list : sizes.ratios);
}

/**
 * Equal for models of one adapter whose sizes are declared in the same form. test/laws/image-plans.test.ts has the sizes
 * of every model, and image-plans-wire.test.ts the requests with them.
 */
function formOfSizes(vendor: FakeVendor, operation: Operation): string {
  const { sizes } = capabilitiesOf(vendor, "http://127.0.0.1", operation);
  const form = sizes === "any" ? sizes : Object.keys(sizes).join();
  return `${vendor.kind} ${form}`;
}

export const sizes: ImageLaws = {
  "the image has the requested size, or the nearest aspect ratio and it is reported, or the error lists the sizes":
    {
      about: "vendor",
      alike: formOfSizes,
      holds: async (context, operation) => {
        const requested = ["1536x1024", "1024x1024"];
        await Promise.all(requested.map((size) => expectSize(context, operation, size)));
      },
    },
};
