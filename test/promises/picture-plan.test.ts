/** What becomes of each option of an image call, for any target and any policy: told, done, refused, never lost. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type Policy, planPicture } from "../../server/gateway/pictures/plan.ts";
import { nearestRatio, readSize } from "../../server/gateway/pictures/sizes.ts";
import { GatewayError } from "../../server/std/gateway-error.ts";
import { openaiTraitsOf } from "../../server/upstream/catalogue/pictures/index.ts";
import type { GenerationQuery, ImageOptions } from "../../server/upstream/contract.ts";
import { type ImageTraits, openPictures } from "../../server/upstream/image-traits.ts";

const query = (
  options: ImageOptions = {},
  more: Partial<GenerationQuery> = {},
): GenerationQuery => ({
  model: "public",
  prompt: "an otter",
  stream: false,
  options,
  rest: {},
  ...more,
});

/** A target that can do nothing but draw. */
const bare: ImageTraits = { maxImages: 1, takes: {}, sizes: { ratios: ["1:1", "16:9", "9:16"] } };

const refusalOf = (options: ImageOptions, traits = bare, policy: Policy = "adapt") => {
  try {
    planPicture(query(options), traits, policy);
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error("it was not refused");
};

describe("adapt", () => {
  test("does itself what a target lacks, and tells of it", () => {
    const plan = planPicture(
      query({ n: 3, size: "1536x1024", response_format: "b64_json", output_format: "webp" }),
      bare,
      "adapt",
    );
    expect(plan).toMatchObject({
      calls: [1, 1, 1],
      finish: { as: "b64_json", format: "webp" },
      adapted: ["size", "n"],
      dropped: [],
    });
    expect(plan.query).toMatchObject({ aspect: "16:9", options: { n: 3 } });
  });

  test.each<[ImageOptions, string, string]>([
    [{ style: "vivid" }, "unknown_parameter", "style"],
    [{ background: "transparent" }, "transparency_unsupported", "background"],
    [{ moderation: "low" }, "unknown_parameter", "moderation"],
    [{ input_fidelity: "high" }, "unknown_parameter", "input_fidelity"],
    [{ output_format: "svg" }, "unknown_parameter", "output_format"],
    [{ output_compression: 50 }, "invalid_value", "output_compression"],
    [{ size: "huge" }, "invalid_size", "size"],
  ])("refuses %j, which nobody can do in its place", (options, fault, param) => {
    const error = refusalOf(options);
    expect([error.fault, error.details.param]).toEqual([fault, param] as never);
  });

  test("names the values there are", () => {
    const { message } = refusalOf({ quality: "ultra" }, openaiTraitsOf("gpt-image-1"));
    expect(message).toBe(
      "Invalid value: 'ultra'. Supported values are: 'low', 'medium', 'high', and 'auto'.",
    );
    expect(refusalOf({ size: "512x512" }, openaiTraitsOf("dall-e-3")).message).toContain(
      "'1024x1024', '1792x1024', '1024x1792', and 'auto'",
    );
    expect(refusalOf({ size: "1792x936" }, openaiTraitsOf("gpt-image-2")).message).toContain(
      "divisible by 16",
    );
  });

  test("translates between the two families of quality, and tells of it", () => {
    const told = (quality: string, model: string) => {
      const { query: asked, adapted } = planPicture(
        query({ quality }),
        openaiTraitsOf(model),
        "adapt",
      );
      return [asked.options.quality, adapted];
    };
    expect(told("hd", "gpt-image-1")).toEqual(["high", ["quality"]]);
    expect(told("standard", "gpt-image-2")).toEqual(["medium", ["quality"]]);
    expect(told("high", "dall-e-3")).toEqual(["hd", ["quality"]]);
    expect(told("low", "dall-e-3")).toEqual(["standard", ["quality"]]);
    expect(told("high", "gpt-image-1")).toEqual(["high", []]);
  });

  test("does not trouble anyone with what goes without saying", () => {
    const options: ImageOptions = {
      quality: "auto",
      background: "auto",
      moderation: "auto",
      size: "auto",
      output_compression: 100,
      partial_images: 0,
    };
    const plan = planPicture(query(options), bare, "strict");
    expect(plan.query.options).toEqual({});
    expect([plan.adapted, plan.dropped]).toEqual([[], []]);
  });

  test("asks for the best and compresses itself where a target knows formats but no compression", () => {
    const traits = { ...bare, takes: { output_format: ["png", "jpeg"] } };
    const plan = planPicture(
      query({ output_format: "jpeg", output_compression: 40 }),
      traits,
      "adapt",
    );
    expect(plan.query.options).toEqual({});
    expect(plan.finish).toEqual({ format: "jpeg", compression: 40 });
  });
});

describe("other policies", () => {
  test("strict refuses whatever the target does not do itself", () => {
    for (const options of [
      { n: 2 },
      { size: "1536x1024" },
      { output_format: "webp" },
      { response_format: "url" },
      { user: "someone" },
    ] satisfies ImageOptions[]) {
      const { param = "" } = refusalOf(options, bare, "strict").details;
      expect(Object.keys(options)).toContain(param);
    }
    const stream = () => planPicture(query({}, { stream: true }), bare, "strict");
    expect(stream).toThrow("stream");
  });

  test("drop leaves out what cannot be done, tells of it, and still does what can", () => {
    const plan = planPicture(
      query({ style: "vivid", background: "transparent", size: "huge", output_format: "webp" }),
      bare,
      "drop",
    );
    expect(plan.dropped).toEqual(["size", "style", "background"]);
    expect(plan.finish.format).toBe("webp");
  });

  test("pass sends everything as it came to who speaks the caller's language, and to no other", () => {
    const asked = query({ n: 7, style: "odd", size: "huge" });
    expect(refusalOf(asked.options, bare, "pass").details.param).toBe("size");
    expect(planPicture(asked, { ...bare, verbatim: true }, "pass")).toMatchObject({
      query: asked,
      calls: [7],
      adapted: [],
    });
  });
});

describe("whatever is asked of whatever target", () => {
  const options: fc.Arbitrary<ImageOptions> = fc.record(
    {
      n: fc.integer({ min: 1, max: 10 }),
      size: fc.constantFrom("auto", "1024x1024", "1536x1024", "1792x1024", "999x1"),
      quality: fc.constantFrom("auto", "low", "high", "hd", "standard", "max"),
      background: fc.constantFrom("auto", "opaque", "transparent"),
      moderation: fc.constantFrom("auto", "low"),
      output_format: fc.constantFrom("png", "jpeg", "webp", "gif"),
      output_compression: fc.integer({ min: 0, max: 100 }),
      response_format: fc.constantFrom("url", "b64_json"),
      style: fc.constantFrom("vivid", "natural"),
      user: fc.string(),
      input_fidelity: fc.constantFrom("high", "low"),
      partial_images: fc.integer({ min: 0, max: 3 }),
    },
    { requiredKeys: [] },
  );
  const targets = fc.constantFrom(
    bare,
    openPictures,
    ...["dall-e-2", "dall-e-3", "gpt-image-1", "gpt-image-2", "gpt-image-2.6"].map((model) =>
      openaiTraitsOf(model),
    ),
  );
  const policies = fc.constantFrom<Policy>("adapt", "strict", "drop");

  test("every option is told to the target, done here, told as left out, or refused by name", () => {
    fc.assert(
      fc.property(options, targets, policies, fc.boolean(), (asked, traits, policy, stream) => {
        const whole = query(asked, { stream });
        let plan: ReturnType<typeof planPicture>;
        try {
          plan = planPicture(whole, traits, policy);
        } catch (error) {
          expect(error).toBeInstanceOf(GatewayError);
          const { param = "" } = (error as GatewayError).details;
          expect(["stream", ...Object.keys(asked)]).toContain(param);
          expect(policy === "drop" && !["output_compression", "prompt"].includes(param)).toBe(
            false,
          );
          return;
        }
        const { finish, adapted, dropped, query: told } = plan;
        expect(plan.calls.reduce((sum, count) => sum + count, 0)).toBe(asked.n ?? 1);
        expect(plan.calls.every((count) => count <= traits.maxImages)).toBe(true);
        const done: Record<string, unknown> = {
          response_format: finish.as,
          output_format: finish.format,
          output_compression: finish.compression,
          background: finish.opaque,
        };
        for (const [name, value] of Object.entries(asked)) {
          const accounted =
            (told.options as Record<string, unknown>)[name] === value ||
            done[name] !== undefined ||
            [...adapted, ...dropped].includes(name) ||
            ["auto", 100, 0, "low", traits.always?.input_fidelity].includes(value as string);
          expect(accounted ? name : `${name} was lost`).toBe(name);
        }
        expect(adapted.filter((name) => dropped.includes(name))).toEqual([]);
        if (policy === "strict") expect([...adapted, ...dropped]).toEqual([]);
      }),
      { numRuns: 3000 },
    );
  });
});

test("the nearest shape is nearest in proportion", () => {
  const nearest = (size: string) =>
    nearestRatio(readSize(size)!, ["1:1", "3:2", "2:3", "16:9", "9:16"]);
  expect(nearest("1024x1024")).toBe("1:1");
  expect(nearest("1536x1024")).toBe("3:2");
  expect(nearest("1024x1536")).toBe("2:3");
  expect(nearest("3840x1080")).toBe("16:9");
  expect(nearest("100x4000")).toBe("9:16");
});
