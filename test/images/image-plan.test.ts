/**
 * Every option of an image request, for any target and any policy, is passed on, emulated, rejected or reported, never
 * lost.
 */
import { describe, expect, test } from "bun:test";
import type { ParameterPolicy } from "../../server/config/snapshot.ts";
import { planImage } from "../../server/images/plan/plan.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { openaiImageCapabilities } from "../../server/upstream/adapters/openai/image-endpoints.ts";
import type { GenerationQuery, ImageOptions } from "../../server/upstream/contract.ts";
import {
  type ImageCapabilities,
  unrestrictedImages,
} from "../../server/upstream/image-capabilities.ts";
import { nearestRatio, parseSize } from "../../server/upstream/image-sizes.ts";

const query = (
  options: ImageOptions = {},
  more: Partial<GenerationQuery> = {},
): GenerationQuery => ({
  model: "public",
  prompt: "an otter",
  stream: false,
  options,
  extraFields: {},
  ...more,
});

/** A target without any optional capability. */
const bare: ImageCapabilities = {
  maxImages: 1,
  takes: {},
  sizes: { ratios: ["1:1", "16:9", "9:16"] },
};

const refusalOf = (
  options: ImageOptions,
  capabilities = bare,
  policy: ParameterPolicy = "adapt",
) => {
  try {
    planImage(query(options), capabilities, policy);
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error("it was not refused");
};

describe("adapt", () => {
  test("emulates what a target lacks, and reports it", () => {
    const plan = planImage(
      query({ n: 3, size: "1536x1024", response_format: "b64_json", output_format: "webp" }),
      bare,
      "adapt",
    );
    expect(plan).toMatchObject({
      requestCounts: [1, 1, 1],
      postProcessing: { deliverAs: "b64_json", format: "webp" },
      adapted: ["size", "n"],
      dropped: [],
    });
    expect(plan.query).toMatchObject({ aspectRatio: "16:9", options: { n: 3 } });
  });

  test("drops and reports partial images without a stream, unless the API is OpenAI's", () => {
    const capabilities: ImageCapabilities = { ...bare, takes: { partial_images: "any" } };
    const options = { partial_images: 2 };
    const plan = planImage(query(options), capabilities, "adapt");
    expect([plan.query.options, plan.dropped]).toEqual([{}, ["partial_images"]]);
    const streamed = { ...capabilities, streams: true };
    for (const sent of [
      planImage(query(options, { stream: true }), streamed, "adapt"),
      planImage(query(options), { ...capabilities, verbatim: true }, "adapt"),
    ])
      expect([sent.query.options, sent.dropped]).toEqual([options, []]);
    expect(refusalOf(options, capabilities, "strict").details.param).toBe("partial_images");
  });

  test("lists the supported values", () => {
    const { message } = refusalOf({ quality: "ultra" }, openaiImageCapabilities("gpt-image-1"));
    expect(message).toBe(
      "Invalid value: 'ultra'. Supported values are: 'low', 'medium', 'high', and 'auto'.",
    );
    expect(refusalOf({ size: "512x512" }, openaiImageCapabilities("dall-e-3")).message).toContain(
      "'1024x1024', '1792x1024', '1024x1792', and 'auto'",
    );
    expect(
      refusalOf({ size: "1792x936" }, openaiImageCapabilities("gpt-image-2")).message,
    ).toContain("divisible by 16");
  });

  test("translates between the two sets of quality names, and reports it", () => {
    const reported = (quality: string, model: string) => {
      const { query: requested, adapted } = planImage(
        query({ quality }),
        openaiImageCapabilities(model),
        "adapt",
      );
      return [requested.options.quality, adapted];
    };
    expect(reported("hd", "gpt-image-1")).toEqual(["high", ["quality"]]);
    expect(reported("standard", "gpt-image-2")).toEqual(["medium", ["quality"]]);
    expect(reported("high", "dall-e-3")).toEqual(["hd", ["quality"]]);
    expect(reported("low", "dall-e-3")).toEqual(["standard", ["quality"]]);
    expect(reported("high", "gpt-image-1")).toEqual(["high", []]);
  });

  test("omits defaults without a report", () => {
    const options: ImageOptions = {
      quality: "auto",
      background: "auto",
      moderation: "auto",
      size: "auto",
      output_compression: 100,
      partial_images: 0,
    };
    const plan = planImage(query(options), bare, "strict");
    expect(plan.query.options).toEqual({});
    expect([plan.adapted, plan.dropped]).toEqual([[], []]);
  });

  test("requests the best quality and compresses in the gateway if a target supports formats but no compression", () => {
    const capabilities = { ...bare, takes: { output_format: ["png", "jpeg"] } };
    const plan = planImage(
      query({ output_format: "jpeg", output_compression: 40 }),
      capabilities,
      "adapt",
    );
    expect(plan.query.options).toEqual({});
    expect(plan.postProcessing).toEqual({ format: "jpeg", compression: 40 });
  });
});

describe("other policies", () => {});

describe("output_compression, which applies to jpeg and webp only", () => {
  const gpt = openaiImageCapabilities("gpt-image-2", "generations");
  /** Takes formats and compression by OpenAI's rules; takes neither; has no declared capabilities. */
  const targets = { gpt, bare, unknown: { ...unrestrictedImages, maxImages: 10 } };
  const _outcomeOf = (
    target: keyof typeof targets,
    output_format: string | undefined,
    output_compression: number,
    policy: ParameterPolicy,
  ): unknown => {
    const options = { output_compression, ...(output_format && { output_format }) };
    try {
      const plan = planImage(query(options), targets[target], policy);
      if (plan.query.options.output_compression !== undefined) return "sent";
      if (plan.dropped.includes("output_compression")) return "dropped";
      return plan.postProcessing.compression === undefined ? "left out" : "done here";
    } catch (error) {
      expect((error as GatewayError).details.param).toMatch(/^output_(compression|format)$/);
      return "refused";
    }
  };

  test("is refused with the name of the format and the fix", () => {
    const reported = (output_format?: string, model = "gpt-image-2.6") =>
      refusalOf(
        { output_compression: 50, ...(output_format && { output_format }) },
        openaiImageCapabilities(model, "generations"),
      );
    expect(reported("gif").message).toBe(
      "Compression less than 100 is not supported for gif output. Set output_format to 'jpeg' or 'webp', or omit output_compression.",
    );
    expect(reported().message).toStartWith(
      "Compression less than 100 is not supported without an output_format.",
    );
    // If the model is known to have no gifs, the error is about the format, in any order of the options.
    expect(reported("gif", "dall-e-3").details.param).toBe("output_format");
  });
});

describe("the parameters that OpenAI's models support", () => {
  const planned = (model: string, options: ImageOptions, operation?: "generations" | "edits") =>
    planImage(query(options), openaiImageCapabilities(model, operation), "adapt");

  test("a capability on which sources disagree is sent to the upstream, whatever the policy", () => {
    const options: ImageOptions[] = [
      { background: "transparent" },
      { background: "transparent", output_format: "webp" },
      { output_format: "gif", frame_count: 4, frame_duration_ms: 100 },
      { output_format: "svg", svg: { model: "writer" } },
      { complexity: "low" },
    ];
    for (const policy of ["adapt", "strict", "drop"] as const) {
      for (const requested of options) {
        const plan = planImage(
          query(requested),
          openaiImageCapabilities("gpt-image-2", "generations"),
          policy,
        );
        expect([plan.query.options, plan.dropped]).toEqual([requested, []]);
      }
    }
    const edited = planned("gpt-image-2.5-flare", { input_fidelity: "low" }, "edits");
    expect(edited.query.options).toEqual({ input_fidelity: "low" });
  });

  test("an svg can be generated and edited: the SDKs disagree, so the upstream decides", () => {
    const svg = { output_format: "svg", svg: { model: "writer" } };
    for (const operation of ["generations", "edits"] as const) {
      expect(planned("gpt-image-2.6", svg, operation).query.options).toEqual(svg);
      expect(planned("gpt-image-2", svg, operation).query.options).toEqual(svg);
    }
  });

  test("svgs are requested one at a time, not streamed, and without partial images or compression", () => {
    const svg = { output_format: "svg" };
    const capabilities = openaiImageCapabilities("gpt-image-2.6", "edits");
    const several = planImage(query({ ...svg, n: 3 }), capabilities, "adapt");
    expect([several.requestCounts, several.adapted]).toEqual([[1, 1, 1], ["n"]]);
    const stream = { ...query({ ...svg, partial_images: 2 }), stream: true };
    const streamed = planImage(stream, capabilities, "adapt");
    expect(streamed.query).toMatchObject({ stream: false, options: svg });
    expect(streamed.query.options.partial_images).toBeUndefined();
    expect(streamed.adapted).toEqual(["stream", "partial_images"]);
    const compressed = { ...svg, output_compression: 50 };
    expect(refusalOf(compressed, capabilities).details.param).toBe("output_compression");
    expect(refusalOf({ ...svg, n: 2 }, capabilities, "strict").details.param).toBe("n");
  });

  test("input_fidelity low is reported as dropped if the model always uses high fidelity", () => {
    const low = { input_fidelity: "low" };
    expect(planned("gpt-image-2", low, "edits").dropped).toEqual(["input_fidelity"]);
    expect(planned("gpt-image-2", { input_fidelity: "high" }, "edits").dropped).toEqual([]);
    expect(planned("gpt-image-1-mini", low, "edits").query.options).toEqual(low);
  });

  test("the only quality of dall-e-2 is accepted, and not sent upstream", () => {
    expect(planned("dall-e-2", { quality: "standard" })).toMatchObject({
      adapted: [],
      dropped: [],
    });
    expect(planned("dall-e-2", { quality: "standard" }).query.options).toEqual({});
  });
});

describe("an aspect ratio in place of a size", () => {
  test("is sent unchanged to a target that supports aspect ratios", () => {
    for (const policy of ["adapt", "strict"] as const) {
      const plan = planImage(query({ size: "16:9" }), bare, policy);
      expect(plan.query).toMatchObject({ aspectRatio: "16:9", options: {} });
      expect([plan.adapted, plan.dropped]).toEqual([[], []]);
    }
    expect(refusalOf({ size: "5:4" }).message).toContain("'1:1', '16:9', and '9:16'");
  });
});

test("the nearest aspect ratio is nearest in proportion", () => {
  const nearest = (size: string) =>
    nearestRatio(parseSize(size)!, ["1:1", "3:2", "2:3", "16:9", "9:16"]);
  expect(nearest("1024x1024")).toBe("1:1");
  expect(nearest("1536x1024")).toBe("3:2");
  expect(nearest("1024x1536")).toBe("2:3");
  expect(nearest("3840x1080")).toBe("16:9");
  expect(nearest("100x4000")).toBe("9:16");
});

describe("the length of a prompt", () => {
  test("is counted in characters, with a surrogate pair as one", () => {
    const capabilities = { ...bare, maxPrompt: 4 };
    const lengthOf = (prompt: string): string | undefined => {
      try {
        planImage(query({}, { prompt }), capabilities, "adapt");
      } catch (error) {
        return /string with length (\d+) instead/.exec((error as Error).message)?.[1];
      }
      return undefined;
    };
    expect(["abcd", "😀😀😀😀", "\ud83d\ud83d\ud83d\ud83d"].map(lengthOf)).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(["abcde", "😀😀😀😀a", "\udc00\ud83d\ud83d\ud83d\ud83d"].map(lengthOf)).toEqual([
      "5",
      "5",
      "5",
    ]);
  });

  test("is counted without memory per character", () => {
    const capabilities = { ...bare, maxPrompt: 4 };
    const prompt = "é".repeat(4_000_000);
    const before = process.memoryUsage().rss;
    expect(() => planImage(query({}, { prompt }), capabilities, "adapt")).toThrow("4000000");
    // An array of its characters takes 100 MB and more.
    expect(process.memoryUsage().rss - before).toBeLessThan(30_000_000);
  });
});
