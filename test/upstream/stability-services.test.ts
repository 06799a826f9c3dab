/** Which of Stability's services a model name selects, and how its jobs are requested. */
import { describe, expect, test } from "bun:test";
import { noRequestTemp } from "../../server/temp-storage/request-temp.ts";
import type { PendingOperation } from "../../server/upstream/adapter.ts";
import { stability } from "../../server/upstream/adapters/stability/stability.ts";
import type { EditQuery } from "../../server/upstream/contract.ts";
import { readAll } from "../chunks.ts";
import { upstreamResponseOf } from "../laws/adapter-cases.ts";
import { apiKey, edit, file, query, targetOf } from "./image-adapter-fixture.ts";

const { adapter } = stability;
const root = "https://api.stability.ai/v2beta/stable-image";
const source = { kind: "file", file } as const;

const generationUrl = (model: string): string =>
  adapter.generations!.toUpstream(query(), targetOf("stability", model)).url;

const editedAt = (model: string, more: Partial<EditQuery> = {}): string =>
  adapter.edits!.toUpstream({ ...edit(source), ...more }, targetOf("stability", model)).url;

async function formOf(model: string, imageQuery: EditQuery): Promise<string> {
  const { body } = adapter.edits!.toUpstream(imageQuery, targetOf("stability", model));
  if (typeof body === "string" || !body) throw new Error("it is not a form");
  return (await readAll(body.open())).toString("latin1");
}

describe("a generation service", () => {
  test("is found by its name, with and without a prefix", () => {
    expect(generationUrl("core")).toBe(`${root}/generate/core`);
    expect(generationUrl("stable-image-ultra")).toBe(`${root}/generate/ultra`);
    expect(generationUrl("sd3.5-large-turbo")).toBe(`${root}/generate/sd3`);
    expect(generationUrl("stable-image-next")).toBe(`${root}/generate/next`);
  });

  test("cannot be redirected to another path by its name", () => {
    expect(generationUrl("../../v1/user/account")).toBe(`${root}/generate/account`);
    expect(generationUrl("..")).toBe(`${root}/generate/%2F..`);
    expect(generationUrl("core?key=1#x")).toBe(`${root}/generate/core%3Fkey%3D1%23x`);
  });
});

describe("an edit", () => {
  test("is sent to the named service, whatever its path", () => {
    expect(editedAt("search-and-replace")).toBe(`${root}/edit/search-and-replace`);
    expect(editedAt("control/structure")).toBe(`${root}/control/structure`);
    expect(editedAt("conservative")).toBe(`${root}/upscale/conservative`);
  });

  test("of a generation model is image-to-image, or inpainting if there is a mask", () => {
    expect(editedAt("ultra")).toBe(`${root}/generate/ultra`);
    expect(editedAt("sd3.5-medium")).toBe(`${root}/generate/sd3`);
    expect(editedAt("core")).toBe(`${root}/edit/inpaint`);
    for (const model of ["core", "ultra", "sd3.5-medium"]) {
      expect(editedAt(model, { mask: source })).toBe(`${root}/edit/inpaint`);
    }
  });

  test("has a strength of one half unless the client sends one", async () => {
    expect(await formOf("ultra", edit(source))).toContain('name="strength"\r\n\r\n0.5\r\n');
    const farther = { ...edit(source), extraFields: { strength: 0.9 } };
    expect(await formOf("ultra", farther)).toContain('name="strength"\r\n\r\n0.9\r\n');
  });

  test("accepts a mask only if the service inpaints", () => {
    const maskOf = (model: string) =>
      adapter.imageCapabilities!(targetOf("stability", model), "edits").edits?.mask;
    expect(["core", "sd3.5-large", "inpaint", "erase"].map(maskOf)).toEqual(Array(4).fill("white"));
    expect(["sketch", "style-transfer", "creative"].map(maskOf)).toEqual(Array(3).fill(undefined));
  });
});

describe("a job", () => {
  const take = (body: object, status: number) =>
    adapter.edits!.fromUpstream(upstreamResponseOf(JSON.stringify(body), { status }), {
      query: edit(source),
      target: targetOf("stability", "creative"),
      temp: noRequestTemp,
    }) as Promise<PendingOperation>;

  test("is polled at the vendor's host, and not more often than the vendor allows", async () => {
    const { kind, poll, afterMs } = await take({ id: "a/../b" }, 200);
    expect({ kind, url: poll?.url, key: poll?.headers.authorization, afterMs }).toEqual({
      kind: "pending",
      url: "https://api.stability.ai/v2beta/results/a%2F..%2Fb",
      key: `Bearer ${apiKey}`,
      afterMs: 10_000,
    });
  });

  test("that is still pending is polled again", async () => {
    expect(await take({ id: "abc", status: "in-progress" }, 202)).toMatchObject({
      kind: "pending",
      poll: { url: "https://api.stability.ai/v2beta/results/abc" },
    });
  });
});
