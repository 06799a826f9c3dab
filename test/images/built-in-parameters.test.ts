/** Parameters of the built-in image models: each is applied, adapted, dropped and reported, or refused by its name. */
import { afterAll, describe, expect, test } from "bun:test";
import type { ParameterPolicy } from "../../server/config/snapshot.ts";
import { planImage } from "../../server/images/plan/plan.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import type { ImageOptions } from "../../server/upstream/contract.ts";
import { sketchCapabilities } from "../../server/upstream/sketch-capabilities.ts";
import { startGateway, testKey } from "../harness.ts";

const policies: readonly ParameterPolicy[] = ["adapt", "strict", "drop"];
const gateway = startGateway({
  yaml: `
upstreams: [{ id: here, kind: sketch }]
models:
${policies.map((policy) => `  - { id: ${policy}, kind: image, parameters: ${policy}, targets: [{ upstream: here, model: x }] }`).join("\n")}
keys: [{ name: test, key: ${testKey} }]
`,
});
afterAll(() => gateway.close());

/** The status, the refused parameter and its code, and the headers of a generation by the drawing program. */
async function generate(policy: ParameterPolicy, options: object) {
  const response = await gateway.post("/v1/images/generations", {
    model: policy,
    prompt: "a boat",
    size: "64x64",
    ...options,
  });
  const body = (await response.json()) as { error?: { param: string; code: string } };
  return {
    status: response.status,
    ...(body.error && { param: body.error.param, code: body.error.code }),
    adapted: response.headers.get("vexel-adapted"),
    dropped: response.headers.get("vexel-dropped"),
  };
}

const served = { status: 200, adapted: null, dropped: null };

describe("a URL, which the drawing program does not make,", () => {
  test("is made by the gateway, and reported", async () => {
    const url = { response_format: "url" };
    const adapted = { ...served, adapted: "response_format" };
    expect(await generate("adapt", url)).toEqual(adapted);
    expect(await generate("drop", url)).toEqual(adapted);
  });

  test("is refused under strict, and base64 is not", async () => {
    expect(await generate("strict", { response_format: "url" })).toMatchObject({
      status: 400,
      param: "response_format",
    });
    expect(await generate("strict", { response_format: "b64_json" })).toEqual(served);
  });
});

describe("a parameter that makes no difference to the image", () => {
  test.each<[string, ImageOptions]>([
    ["moderation", { moderation: "low" }],
    ["user", { user: "u" }],
    ["safety_identifier", { safety_identifier: "s" }],
    ["partial_images", { partial_images: 2 }],
  ])("is dropped and reported, and refused under strict: %s", async (name, options) => {
    expect(await generate("adapt", options)).toEqual({ ...served, dropped: name });
    expect(await generate("drop", options)).toEqual({ ...served, dropped: name });
    expect(await generate("strict", options)).toMatchObject({ status: 400, param: name });
  });

  test("is not reported if its value is the default", async () => {
    const defaults = { moderation: "auto", partial_images: 0, input_fidelity: "low" };
    for (const policy of policies) expect(await generate(policy, defaults)).toEqual(served);
  });
});

test.each<[string, string, object]>([
  ["size", "invalid_value", { size: "5000x5000" }],
  ["size", "invalid_value", { size: "big" }],
  ["style", "invalid_value", { style: "weird" }],
  ["quality", "invalid_value", { quality: "best" }],
  ["complexity", "invalid_value", { complexity: "extreme" }],
  ["output_format", "invalid_value", { output_format: "bmp" }],
  ["frame_count", "invalid_value", { frame_count: 4 }],
  ["frame_duration_ms", "invalid_value", { frame_duration_ms: 100 }],
  ["input_fidelity", "unknown_parameter", { input_fidelity: "high" }],
  ["svg", "unknown_parameter", { svg: { x: 1 }, output_format: "svg" }],
])(
  "an unsupported %s is refused with %s, and dropped under drop: %j",
  async (param, code, options) => {
    for (const policy of ["adapt", "strict"] as const) {
      expect(await generate(policy, options)).toMatchObject({ status: 400, param, code });
    }
    expect(await generate("drop", options)).toEqual({ ...served, dropped: param });
  },
);

test("the names of the older models for the quality are applied as they are", async () => {
  for (const quality of ["standard", "hd"])
    expect(await generate("strict", { quality })).toEqual(served);
});

describe("the capabilities of the drawing program", () => {
  const planned = (options: ImageOptions, operation: "generations" | "edits" = "generations") => {
    const query = { model: "m", prompt: "p", stream: false, options, extraFields: {} };
    try {
      return planImage(query, sketchCapabilities(operation), "adapt").query.options;
    } catch (error) {
      if (error instanceof GatewayError) return error.details.param;
      throw error;
    }
  };

  test("have the limits of sizes that the program has", () => {
    for (const size of ["16x16", "4096x2025"]) expect(planned({ size })).toEqual({ size });
    for (const size of ["15x16", "4097x16", "4096x2026"]) expect(planned({ size })).toBe("size");
  });

  test("have input_fidelity in edits only, and svg in generations only", () => {
    const fidelity = { input_fidelity: "high" };
    expect(planned(fidelity, "edits")).toEqual(fidelity);
    expect(planned(fidelity)).toBe("input_fidelity");
    const svg = { output_format: "svg" };
    expect(planned(svg)).toEqual(svg);
    expect(planned(svg, "edits")).toBe("output_format");
  });
});

describe("a file of an edit", () => {
  const edit = async (field: string) => {
    const png = Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
      "base64",
    );
    const form = new FormData();
    form.append("model", "drop");
    form.append("prompt", "a boat");
    for (const name of ["image", field])
      form.append(name, new Blob([png], { type: "image/png" }), `${name}.png`);
    const response = await fetch(`${gateway.url}/v1/images/edits`, {
      method: "POST",
      headers: { authorization: `Bearer ${testKey}` },
      body: form,
    });
    return { status: response.status, body: await response.json() };
  };

  test("is refused by its name if the drawing program does not know it", async () => {
    const { status, body } = await edit("notes");
    expect(status).toBe(400);
    expect(body).toMatchObject({ error: { param: "notes", code: "unknown_parameter" } });
  });

  test.each(["markup", "markup[]", "markup[0]"])("is accepted as %s", async (field) => {
    expect((await edit(field)).status).toBe(200);
  });
});
