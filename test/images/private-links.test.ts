/** SSRF guard: links of upstreams and of clients never lead into the operator's private network. */

import { beforeEach, describe, expect, test } from "bun:test";
import type { PostProcessing } from "../../server/images/plan/image-plan.ts";
import { planImage } from "../../server/images/plan/plan.ts";
import { type PostProcessTools, postProcess } from "../../server/images/post-process.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { adapters } from "../../server/upstream/adapters/index.ts";
import { isPrivateHost } from "../../server/upstream/download/address-ranges.ts";
import { grayImage } from "../conformance/arrange.ts";
import { startImageGateway } from "./image-gateway-fixture.ts";

const requestedUrls: string[] = [];
let link = "";
const { gateway, url, generate } = startImageGateway({
  model: "d2",
  respond: (request) => {
    const { pathname } = new URL(request.url);
    requestedUrls.push(pathname);
    if (pathname !== "/x.png")
      return Response.json({ created: 1, size: "1536x1024", data: [{ url: link }] });
    const proof = request.headers.get("authorization");
    return proof === `Basic ${btoa("user:pw")}`
      ? new Response(grayImage("an otter"))
      : new Response("no", { status: 401 });
  },
  yaml: (origin) => `
upstreams: [{ id: fake, kind: openai, baseUrl: "${origin}/v1", apiKey: x }]
models:
  - { id: d2, kind: image, targets: [{ upstream: fake, model: dall-e-2 }] }
  - { id: g1, kind: image, targets: [{ upstream: fake, model: gpt-image-1 }] }`,
});
const { host } = new URL(url);
beforeEach(() => {
  requestedUrls.length = 0;
});

describe("an upstream's link", () => {
  test.each(["http://minio:9000/b/x.png", "http://nas.lan/x.png", "https://cdn.corp./x.png"])(
    "is never passed on if its host name is internal: %s",
    async (inner) => {
      link = inner;
      const response = await generate({ response_format: "url" });
      expect(response.status).toBe(502);
      expect(await response.text()).not.toContain(new URL(inner).hostname);
    },
  );

  test("that contains a password is downloaded with it, and replaced by a link of the gateway", async () => {
    link = `http://user:pw@${host}/x.png`;
    const response = await generate({ response_format: "url" });
    const { data } = (await response.json()) as { data: { url: string }[] };
    expect(data[0]?.url).toStartWith(`${gateway.url}/files/images/`);
    expect(data[0]?.url).not.toContain("pw@");
    expect(Buffer.from(await (await fetch(data[0]!.url)).bytes())).toEqual(
      Buffer.from(grayImage("an otter")),
    );
  });

  test("that is private becomes a link of the gateway if no response_format was requested", async () => {
    link = `http://user:pw@${host}/x.png`;
    const { data, size } = (await (await generate({})).json()) as {
      data: { url: string }[];
      size: string;
    };
    expect(Object.keys(data[0]!)).toEqual(["url"]);
    // The size of the image, not the size that the upstream reports.
    expect(size).toBe("16x16");
    expect(data[0]!.url).toStartWith(`${gateway.url}/files/images/`);
    const shown = await fetch(data[0]!.url);
    expect(Buffer.from(await shown.bytes())).toEqual(Buffer.from(grayImage("an otter")));
    // Also where it was fetched to be converted.
    const converted = await generate({ output_format: "webp" });
    const { data: other } = (await converted.json()) as { data: { url: string }[] };
    expect((await fetch(other[0]!.url)).headers.get("content-type")).toBe("image/webp");
  });

  test("that is private becomes base64 if that was requested, and for the GPT image family", async () => {
    link = `http://user:pw@${host}/x.png`;
    const otter = Buffer.from(grayImage("an otter")).toString("base64");
    for (const body of [{ response_format: "b64_json" }, { model: "g1" }]) {
      const { data } = (await (await generate(body)).json()) as { data: object[] };
      expect(data).toEqual([{ b64_json: otter }]);
    }
  });

  test("to the public Internet is passed on unchanged", async () => {
    link = "https://cdn.example.com/x.png";
    const { data } = (await (await generate({ response_format: "url" })).json()) as {
      data: object[];
    };
    expect(data).toEqual([{ url: link }]);
  });

  test.each(["cdn.example.com", "8.8.8.8", "homes.example", "xlan", "a.lane"])(
    "is classified by its host alone: %s",
    (name) => expect(isPrivateHost(name)).toBe(name === "xlan"),
  );
});

describe("a client's link", () => {
  const edit = (image_url: string) =>
    gateway.post("/v1/images/edits", { model: "g1", prompt: "x", images: [{ image_url }] });

  test.each(["http://10.0.0.7/x.png", "http://minio:9000/x.png", "http://169.254.169.254/x"])(
    "into a private network is not sent to an upstream that is not the vendor's: %s",
    async (inner) => {
      const response = await edit(inner);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: { param: "images[0].image_url" } });
      expect(requestedUrls).toEqual([]);
    },
  );

  test.each([
    ["openai", undefined, true],
    ["openai", "https://eu.api.openai.com/v1", true],
    ["azure", "https://ours.openai.azure.com", true],
    ["openai", "http://10.0.0.7/v1", false],
    ["openai", "https://llm.example.com/v1", false],
    ["openai", "https://api.openai.com.example.com/v1", false],
    ["azure", "https://ours.westeurope.cloudapp.azure.com", false],
  ] as const)("is left to %s at %s: %j", (kind, baseUrl, follows) => {
    const upstream = { id: "u", kind, headers: {}, options: {}, ...(baseUrl && { baseUrl }) };
    const capabilities = adapters
      .get(kind)
      ?.imageCapabilities?.({ upstream, model: "gpt-image-1" }, "edits");
    expect(capabilities?.edits?.links === true).toBe(follows);
  });
});

describe("an image that must be converted, and whose link is unreachable", () => {
  const image = { kind: "url", url: "https://cdn.example.com/x.png" } as const;
  const unreachable = new GatewayError("upstream_unreachable", "not now");
  const finish = async (
    postProcessing: PostProcessing,
    more: Partial<PostProcessTools> = {},
    stream = false,
  ) => {
    const dropped: string[] = [];
    const tools: PostProcessTools = {
      download: () => Promise.reject(unreachable),
      convert: () => Promise.reject(new Error("there is nothing to convert")),
      isPrivate: () => false,
      onFailure: () => undefined,
      onUnconverted: () => undefined,
      onAdapted: () => undefined,
      onDropped: (name) => dropped.push(name),
      onUnusable: () => undefined,
      ...more,
    };
    const response = await postProcess(
      { kind: "buffered", results: [{ image }], metadata: {} },
      { postProcessing, stream, maxImages: 1, requested: {} },
      tools,
    );
    return { response, dropped };
  };

  test.each(["url", undefined] as const)(
    "is delivered as the link, and a header reports it: %s",
    async (deliverAs) => {
      const { response, dropped } = await finish({
        format: "webp",
        compression: 50,
        ...(deliverAs && { deliverAs }),
      });
      expect(response).toMatchObject({ results: [{ image }] });
      expect(dropped).toEqual(["output_format", "output_compression"]);
    },
  );

  test("is an error if the bytes were requested, or if the link is private", async () => {
    const failures = [
      finish({ format: "webp", deliverAs: "b64_json" }),
      finish({ format: "webp", deliverAs: "url" }, { isPrivate: () => true }),
      finish({ format: "webp", deliverAs: "url" }, {}, true),
    ];
    for (const failure of failures) {
      const { kind, message } = unreachable;
      const error = { kind, message, details: { mayBeBilled: true } };
      expect(await failure.catch((thrown: unknown) => thrown)).toMatchObject(error);
    }
  });

  test("is an error if the file behind the link is not an image", async () => {
    const invalid = new GatewayError("upstream_invalid", "a page");
    const failure = finish(
      { format: "webp", deliverAs: "url" },
      { download: () => Promise.reject(invalid) },
    );
    expect(await failure.catch((error: unknown) => error)).toMatchObject({
      kind: "upstream_invalid",
      message: "a page",
    });
  });
});

test("a truncated user identifier is reported, and rejected if nothing may be adapted", () => {
  const target = { upstream: { id: "u", kind: "zhipu", headers: {}, options: {} }, model: "m" };
  const capabilities = adapters.get("zhipu")!.imageCapabilities!(target, "generations");
  const plan = (user: string, policy: "adapt" | "strict") =>
    planImage(
      { model: "m", prompt: "x", stream: false, options: { user }, extraFields: {} },
      capabilities,
      policy,
    );
  expect(plan("me", "adapt").adapted).toEqual(["user"]);
  expect(plan("x".repeat(129), "adapt").adapted).toEqual(["user"]);
  expect(plan("someone", "strict").adapted).toEqual([]);
  expect(() => plan("me", "strict")).toThrow("expected 6 to 128 characters");
});
