/** curl as the client, as people and scripts use it. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fakeImage, fakeVector } from "../fake-upstream.ts";
import { temporaryFolder, testKey } from "../harness.ts";
import { testsWith } from "../programs.ts";
import { arrange, base64Of, bitsOf, grayImage, maskOf, sha256Of } from "./arrange.ts";

testsWith(["curl"], import.meta.file, () => {
  const { fake, gateway, close } = arrange();
  const folder = temporaryFolder();
  beforeEach(() => fake.clear());
  afterAll(async () => {
    folder[Symbol.dispose]();
    await close();
  });

  interface Curled {
    readonly status: number;
    readonly headers: string;
    readonly body: string;
    /** The verbose output of curl. */
    readonly story: string;
  }

  async function curl(path: string, args: readonly string[], stdin?: Uint8Array): Promise<Curled> {
    const head = join(folder.path, `head-${crypto.randomUUID()}`);
    const options = ["-sS", "-v", "--max-time", "20", "-D", head];
    const authorization = ["-H", `authorization: Bearer ${testKey}`];
    const child = Bun.spawn(
      ["curl", ...options, ...authorization, ...args, `${gateway.baseURL}${path}`],
      {
        stdin: stdin ? new Blob([new Uint8Array(stdin)]) : "ignore",
        stdout: "pipe",
        stderr: "pipe",
      },
    );
    const [body, story, code] = await Promise.all([
      child.stdout.text(),
      child.stderr.text(),
      child.exited,
    ]);
    if (code !== 0) throw new Error(`curl ended with ${code}:\n${story}`);
    const headers = await Bun.file(head).text();
    const status = Number([...headers.matchAll(/^HTTP\/\S+ (\d+)/gm)].at(-1)?.[1]);
    return { status, headers, body, story };
  }

  const jsonType = ["-H", "content-type: application/json"];
  const json = (body: unknown): string[] => [...jsonType, "-d", JSON.stringify(body)];
  const form = (...fields: readonly string[]): string[] => fields.flatMap((field) => ["-F", field]);
  /** curl waits for the response of the gateway, and not only for its usual second. */
  const expectContinue = ["-H", "expect: 100-continue", "--expect100-timeout", "15"];
  const file = (name: string, bytes: Uint8Array): string => {
    const path = join(folder.path, name);
    writeFileSync(path, bytes);
    return path;
  };
  const firstVector = (body: string): string =>
    bitsOf((JSON.parse(body) as { data: { embedding: number[] }[] }).data[0]!.embedding);

  describe("curl", () => {
    test("gets embeddings for one line of JSON", async () => {
      const requestBody = { model: "text-embedding-3-small", input: "an otter" };
      const { status, body, headers } = await curl("/embeddings", json(requestBody));
      expect(status).toBe(200);
      expect(firstVector(body)).toBe(bitsOf(fakeVector("an otter", 1536)));
      expect(headers).toMatch(/^content-type: application\/json/im);
      expect(headers).toMatch(/^x-request-id: \S+/im);
    });

    test("gets an image for one line of JSON", async () => {
      const requestBody = { model: "gpt-image-2", prompt: "an otter" };
      const { body } = await curl("/images/generations", json(requestBody));
      const image = fakeImage("an otter", 0, { format: "png", width: 1024, height: 1024 });
      expect(JSON.parse(body)).toMatchObject({ data: [{ b64_json: base64Of(image) }] });
    });

    test("receives an image stream", async () => {
      const requestBody = {
        model: "gpt-image-2",
        prompt: "otter",
        stream: true,
        partial_images: 1,
      };
      const { body, headers } = await curl("/images/generations", ["-N", ...json(requestBody)]);
      expect(headers).toMatch(/^content-type: text\/event-stream/im);
      expect([...body.matchAll(/^event: (.*)$/gm)].map(([, name]) => name)).toEqual([
        "image_generation.partial_image",
        "image_generation.completed",
      ]);
    });

    test("edits an image with a form", async () => {
      const [image, mask] = [grayImage("one"), await maskOf()];
      const { status } = await curl(
        "/images/edits",
        form(
          "model=gpt-image-2",
          "prompt=add a hat",
          "n=2",
          `image=@${file("one.png", image)}`,
          `mask=@${file("mask.png", mask)}`,
        ),
      );
      expect(status).toBe(200);
      const parts = fake.requests[0]!.form!;
      expect(parts.map(({ field, value, sha256 }) => [field, value ?? sha256])).toEqual([
        ["n", "2"],
        ["model", "gpt-image-2"],
        ["prompt", "add a hat"],
        ["image", sha256Of(image)],
        ["mask", sha256Of(mask)],
      ]);
    });

    test.each(["image[]", "image", "image[N]"])("edits several images, named %s", async (name) => {
      const images = [grayImage("a"), grayImage("b"), grayImage("c")];
      const files = images.map(
        (bytes, i) => `${name.replace("N", String(i))}=@${file(`${i}.png`, bytes)}`,
      );
      const { status } = await curl(
        "/images/edits",
        form("model=gpt-image-2", "prompt=join them", ...files),
      );
      expect(status).toBe(200);
      const sent = fake.requests[0]!.form!.filter(({ filename }) => filename !== undefined);
      expect(sent.map(({ field, sha256 }) => [field, sha256])).toEqual(
        images.map((bytes) => ["image[]", sha256Of(bytes)]),
      );
    });

    test("sends a large body with Expect: 100-continue", async () => {
      const input = ["an otter", ...Array.from({ length: 110 }, () => "word ".repeat(2000))];
      const path = file(
        "large.json",
        Buffer.from(JSON.stringify({ model: "text-embedding-3-small", input, dimensions: 4 })),
      );
      const { status, body, story } = await curl("/embeddings", [
        ...jsonType,
        ...expectContinue,
        "--data-binary",
        `@${path}`,
      ]);
      expect(story).toContain("HTTP/1.1 100 Continue");
      expect(status).toBe(200);
      expect(firstVector(body)).toBe(bitsOf(fakeVector("an otter", 4)));
      expect((JSON.parse(body) as { data: unknown[] }).data).toHaveLength(111);
    });

    test("sends a large form with Expect: 100-continue", async () => {
      const image = grayImage("large", 2048);
      const large = Buffer.concat([image, Buffer.alloc(2 * 1024 * 1024, 7)]);
      const fields = form(
        "model=gpt-image-2",
        "prompt=smaller",
        `image=@${file("large.png", large)}`,
      );
      const { status, story } = await curl("/images/edits", [...expectContinue, ...fields]);
      expect(story).toContain("HTTP/1.1 100 Continue");
      expect(status).toBe(200);
      expect(fake.requests[0]!.form!.at(-1)).toMatchObject({ sha256: sha256Of(large) });
    });

    test("sends a body of unknown length, in chunks", async () => {
      const requestBody = { model: "text-embedding-3-small", input: "an otter ".repeat(1000) };
      const { status, body, story } = await curl(
        "/embeddings",
        ["-X", "POST", ...jsonType, "-T", "-"],
        Buffer.from(JSON.stringify(requestBody)),
      );
      expect(story).toMatch(/transfer-encoding: chunked/i);
      expect(status).toBe(200);
      expect(firstVector(body)).toBe(bitsOf(fakeVector(requestBody.input, 1536)));
    });

    test("reads a response when it accepts compression", async () => {
      const requestBody = { model: "text-embedding-3-small", input: ["an otter", "a cat"] };
      const { body } = await curl("/embeddings", ["--compressed", ...json(requestBody)]);
      expect(firstVector(body)).toBe(bitsOf(fakeVector("an otter", 1536)));
    });

    test("over HTTP/1.0 gets the same response", async () => {
      const requestBody = { model: "text-embedding-3-small", input: "an otter" };
      const { body } = await curl("/embeddings", ["--http1.0", ...json(requestBody)]);
      expect(firstVector(body)).toBe(bitsOf(fakeVector("an otter", 1536)));
    });

    test("without a JSON content type gets an error that names it", async () => {
      const { status, body } = await curl("/embeddings", ["-d", "model=x"]);
      expect(status).toBe(415);
      expect(JSON.parse(body)).toMatchObject({
        error: { type: "invalid_request_error", code: "unsupported_content_type" },
      });
      expect(body).toContain("application/json");
    });
  });
});
