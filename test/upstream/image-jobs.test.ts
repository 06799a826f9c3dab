/** Vendors with job polling: cases that the laws for all vendors do not cover. */
import { describe, expect, test } from "bun:test";
import type { PendingOperation } from "../../server/upstream/adapter.ts";
import { bfl } from "../../server/upstream/adapters/bfl.ts";
import { fal } from "../../server/upstream/adapters/fal/fal.ts";
import { replicate } from "../../server/upstream/adapters/replicate/replicate.ts";
import type { BufferedImageResponse } from "../../server/upstream/contract.ts";
import { errorKindOf } from "../laws/adapter-responses.ts";
import { apiKey, bodyOf, edit, file, query, read, targetOf } from "./image-adapter-fixture.ts";

describe("the API key is sent only to the vendor", () => {
  const elsewhere = [
    "https://bfl.ai.example.com/v1/get_result?id=1",
    "https://notbfl.ai/v1/get_result?id=1",
    "http://api.bfl.ai/v1/get_result?id=1",
    "https://api.bfl.ai:8443/v1/get_result?id=1",
    "https://someone:secret@api.bfl.ai/v1/get_result?id=1",
    "http://169.254.169.254/latest/meta-data",
    "file:///etc/passwd",
    "/v1/get_result?id=1",
    7,
  ];

  test("whatever host a job URL has", async () => {
    for (const polling_url of elsewhere) {
      const error = await errorKindOf(() =>
        read(bfl.adapter, targetOf("bfl", "flux-2-pro"), { id: "1", polling_url }),
      );
      expect(error?.kind, String(polling_url)).toBe("upstream_invalid");
    }
  });

  test("a link that cancels a job at another host is refused", async () => {
    const urls = {
      get: "https://api.replicate.com/v1/predictions/1",
      cancel: "https://example.com/cancel",
    };
    const target = targetOf("replicate", "a/b");
    const error = await errorKindOf(() =>
      read(replicate.adapter, target, { status: "starting", urls }),
    );
    expect(error?.kind).toBe("upstream_invalid");
  });

  test("hosts of the vendor's regions get the API key", async () => {
    const polling_url = "https://api.eu2.bfl.ai/v1/get_result?id=1";
    const target = targetOf("bfl", "flux-2-pro");
    const { poll } = (await read(bfl.adapter, target, {
      id: "1",
      polling_url,
    })) as PendingOperation;
    expect(poll!.url).toBe(polling_url);
    expect(poll!.headers["x-key"]).toBe(apiKey);
  });

  test("the configured base URL gets the API key", async () => {
    const target = targetOf("bfl", "flux-2-pro", "http://10.0.0.7:9000/bfl/v1");
    const polling_url = "http://10.0.0.7:9000/bfl/v1/get_result?id=1";
    const { poll } = (await read(bfl.adapter, target, {
      id: "1",
      polling_url,
    })) as PendingOperation;
    expect(poll!.url).toBe(polling_url);
  });
});

describe("a model's name selects that model and no other path", () => {
  const urlOf = (model: string) =>
    replicate.adapter.generations!.toUpstream(query(), targetOf("replicate", model)).url;

  test("by name, by version, and by a deployment of the operator", async () => {
    const version = "7762fd07cf82c948538e41f63f77d685e02b063e37e496e96eefd46c929f9bdc";
    const api = "https://api.replicate.com/v1";
    expect(urlOf("google/nano-banana")).toBe(`${api}/models/google/nano-banana/predictions`);
    expect(urlOf("deployments/acme/otters")).toBe(`${api}/deployments/acme/otters/predictions`);
    for (const model of [version, `stability-ai/sdxl:${version}`]) {
      const request = replicate.adapter.generations!.toUpstream(
        query(),
        targetOf("replicate", model),
      );
      expect(request.url).toBe(`${api}/predictions`);
      expect((await bodyOf(request)).version).toBe(version);
    }
  });

  test("even if it contains path segments", () => {
    expect(new URL(urlOf("../../account")).pathname).not.toBe("/v1/account");
    const request = fal.adapter.generations!.toUpstream(query(), targetOf("fal", "../x"));
    expect(new URL(request.url).pathname).not.toBe("/x");
  });
});

describe("one model of fal generates and edits, though with two endpoints", () => {
  const pathOf = (model: string, images: number): string => {
    const sources = Array.from({ length: images }, () => ({ kind: "file", file }) as const);
    const target = targetOf("fal", model);
    const request =
      images === 0
        ? fal.adapter.generations!.toUpstream(query(), target)
        : fal.adapter.edits!.toUpstream(edit(...sources), target);
    return new URL(request.url).pathname.slice(1);
  };

  test("if their names show the relation", () => {
    for (const [model, generations, edits] of [
      ["fal-ai/flux-2-pro", "fal-ai/flux-2-pro", "fal-ai/flux-2-pro/edit"],
      ["fal-ai/flux-2-pro/edit", "fal-ai/flux-2-pro/edit", "fal-ai/flux-2-pro/edit"],
      ["fal-ai/nano-banana-pro", "fal-ai/nano-banana-pro", "fal-ai/nano-banana-pro/edit"],
      [
        "fal-ai/bytedance/seedream/v4/text-to-image",
        "fal-ai/bytedance/seedream/v4/text-to-image",
        "fal-ai/bytedance/seedream/v4/edit",
      ],
      [
        "fal-ai/flux-pro/kontext",
        "fal-ai/flux-pro/kontext/text-to-image",
        "fal-ai/flux-pro/kontext",
      ],
      ["acme/otters", "acme/otters", "acme/otters"],
    ] as const) {
      expect(pathOf(model, 0)).toBe(generations);
      expect(pathOf(model, 1)).toBe(edits);
    }
    expect(pathOf("fal-ai/flux-pro/kontext", 2)).toBe("fal-ai/flux-pro/kontext/multi");
  });

  test("an endpoint that would ignore the image gets no edit", () => {
    const edits = (model: string) =>
      fal.adapter.imageCapabilities!(targetOf("fal", model), "edits").edits !== undefined;
    expect(edits("fal-ai/flux/schnell")).toBe(false);
    expect(edits("fal-ai/flux/dev/image-to-image")).toBe(true);
  });
});

describe("images that fal's safety checker has replaced with black", () => {
  const target = targetOf("fal", "fal-ai/flux/dev");
  const images = [1, 2].map((at) => ({ url: `https://v3.fal.media/files/${at}.png` }));

  test("are an error if every image is black", async () => {
    const response = { images, has_nsfw_concepts: [true, true] };
    const error = await errorKindOf(() => read(fal.adapter, target, response));
    expect(error?.kind).toBe("moderation_blocked");
  });

  test("are marked if other images are usable", async () => {
    const response = { images, has_nsfw_concepts: [false, true] };
    const { results } = (await read(fal.adapter, target, response)) as BufferedImageResponse;
    expect(results.map(({ extraFields }) => extraFields)).toEqual([
      undefined,
      { has_nsfw_concepts: true },
    ]);
  });

  test("are delivered to clients that turned the safety checker off", async () => {
    const response = { images, has_nsfw_concepts: [true, true] };
    const generation = query({ extraFields: { enable_safety_checker: false } });
    const { results } = (await read(
      fal.adapter,
      target,
      response,
      generation,
    )) as BufferedImageResponse;
    expect(results).toHaveLength(2);
  });
});

test("a client disconnect cancels the vendor's job, in each vendor's own way", async () => {
  const job = "https://queue.fal.run/fal-ai/flux/requests/1";
  const queued = (await read(fal.adapter, targetOf("fal", "fal-ai/flux/dev"), {
    status: "IN_QUEUE",
    response_url: job,
    status_url: `${job}/status`,
    cancel_url: `${job}/cancel`,
  })) as PendingOperation;
  expect(queued.cancel).toMatchObject({ url: `${job}/cancel`, method: "PUT" });
  const get = "https://api.replicate.com/v1/predictions/1";
  const started = (await read(replicate.adapter, targetOf("replicate", "a/b"), {
    status: "starting",
    urls: { get, cancel: `${get}/cancel` },
  })) as PendingOperation;
  expect(started.cancel).toMatchObject({ url: `${get}/cancel`, method: "POST" });
});

test("a rewritten prompt is reported, and an unchanged one is not", async () => {
  const target = targetOf("bfl", "flux-2-flex");
  const ready = (prompt: string) =>
    read(bfl.adapter, target, {
      id: "1",
      status: "Ready",
      result: { sample: "https://delivery.bfl.ai/1.jpeg", prompt, seed: 7 },
    }) as Promise<BufferedImageResponse>;
  expect((await ready("an otter")).results[0]?.revised_prompt).toBeUndefined();
  expect((await ready("a wet otter")).results[0]?.revised_prompt).toBe("a wet otter");
});

test("the vendor's error of a failed job is passed on without the operator's secrets", async () => {
  const target = targetOf("replicate", "acme/otters");
  const error = `Could not load https://10.0.0.7/weights with ${apiKey} for acme/otters`;
  const gatewayError = await errorKindOf(() =>
    read(replicate.adapter, target, { status: "failed", error }),
  );
  expect(gatewayError?.kind).toBe("upstream_error");
  expect(gatewayError?.message).toContain("Could not load");
  for (const secret of [apiKey, "10.0.0.7", "acme/otters"]) {
    expect(gatewayError?.message).not.toContain(secret);
  }
});
