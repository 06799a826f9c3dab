/**
 * `bun test/embedding-vendors/sdks/run.ts`: the vendors' own Python SDKs against the fakes, to show that the fakes
 * accept what the real clients send, and that the clients read what the fakes respond. The SDKs are large, so `npm test`
 * does not need them. VEXEL_TEST_PYTHON is a Python with `pip install cohere voyageai google-genai pillow`.
 */
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { encodeImage } from "../../fake-upstream/fake-image.ts";
import { packed } from "../bearer-case.ts";
import { cohereCases } from "../cohere.ts";
import { batchResponse, geminiCases } from "../gemini.ts";
import { contentOf } from "../input-images.ts";
import type { VendorCase } from "../vendor-case.ts";
import { voyageCases } from "../voyage.ts";

const cases = [...cohereCases, ...voyageCases, ...geminiCases];
const origins: Readonly<Record<string, string>> = {
  cohere: "https://api.cohere.com",
  voyage: "https://api.voyageai.com/v1",
  gemini: "https://generativelanguage.googleapis.com",
};

/** From a hash of the parts of an entry: the client must get the vectors of exactly what it sent. */
const vectorOf = (parts: readonly string[]): Float32Array<ArrayBuffer> => {
  const hash = createHash("sha256").update(JSON.stringify(parts)).digest();
  return Float32Array.from({ length: 8 }, (_, at) => ((hash[at] ?? 0) + 1) / 256);
};
const integersOf = (parts: readonly string[]): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(vectorOf(parts), (number) => number * 100);

function respond(vendor: VendorCase, request: Parameters<VendorCase["understand"]>[0]): Response {
  const { input, outputType } = vendor.understand(request, vendor.target);
  const entries = contentOf(input);
  const { body } = outputType
    ? (vendor.quantized ?? noTypes)(entries.map(integersOf), outputType)
    : responseOf(vendor, request.url)(entries.map(vectorOf), 3);
  return new Response(body, { headers: { "content-type": "application/json" } });
}

const responseOf = ({ response }: VendorCase, url: string): VendorCase["response"] =>
  url.endsWith(":batchEmbedContents") ? batchResponse : response;

const noTypes = (): never => {
  throw new Error("the vendor has no output types");
};

/** `/KIND/MODEL/PATH`, where PATH is that of the vendor. */
async function serve(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  const [, kind = "", model, path] = /^\/(\w+)\/([^/]+)(\/.*)$/.exec(pathname) ?? [];
  try {
    const vendor = cases.find(
      ({ target }) => target.upstream.kind === kind && target.model === model,
    );
    if (!vendor) throw new Error(`there is no fake of ${pathname}`);
    const headers = Object.fromEntries(request.headers);
    const body = Buffer.from(await request.arrayBuffer()).toString("latin1");
    return respond(vendor, { url: `${origins[kind]}${path}`, method: "POST", headers, body });
  } catch (error) {
    const message = `the fake refused ${pathname}: ${error instanceof Error ? error.message : error}`;
    console.error(message);
    return Response.json({ message, detail: message, error: { message } }, { status: 400 });
  }
}

const png = Buffer.from(encodeImage({ format: "png", width: 4, height: 4, shade: 7 }));
const image = createHash("sha256").update(png).digest("base64");
const floats = (...parts: string[]): number[] => [...vectorOf(parts)];
const base64 = (...parts: string[]): string => packed(vectorOf(parts));
const integers = (...parts: string[]): number[] => [...integersOf(parts)];

const expected: Readonly<Record<string, readonly unknown[]>> = {
  "cohere, texts": [base64("a boat"), base64("a ship")],
  "cohere, an image": [base64(image)],
  "cohere, a text with an image": [base64("a boat", image)],
  "cohere, a text with an image as int8": [integers("a boat", image)],
  "cohere, an image of Embed 3 as ubinary": [integers(image)],
  "voyage, texts": [floats("a boat"), floats("a ship")],
  "voyage, a text as int8": [integers("a boat")],
  "voyage, a text by the multimodal model": [floats("a boat")],
  "voyage, an image": [floats(image)],
  "gemini-embedding-001, texts": [floats("a boat"), floats("a ship")],
  "gemini-embedding-2, texts": [floats("a boat"), floats("a ship")],
  "gemini, an image": [floats(image)],
  "gemini, a text with an image": [floats("a boat", image)],
};
/** The SDK encodes the image again, so its bytes are not known here. */
const reencoded = [
  "voyage, a text with an image of PIL",
  "voyage, a text with an image as ubinary",
];

const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: serve });
const folder = mkdtempSync(join(tmpdir(), "vexel-sdks-"));
const file = join(folder, "image.png");
await Bun.write(file, png);
const keys = Object.fromEntries(
  cases.map(({ target: { upstream } }) => [upstream.kind, upstream.apiKey]),
);
const python = process.env.VEXEL_TEST_PYTHON ?? "python3";
const script = join(import.meta.dir, "clients.py");
const child = Bun.spawn([python, script, server.url.origin, JSON.stringify(keys), file], {
  stderr: "inherit",
});
const lines = (await child.stdout.text()).trim().split("\n").filter(Boolean);
const results = new Map(
  lines.map((line) => {
    const { name, vectors } = JSON.parse(line) as { name: string; vectors: unknown[] };
    return [name, vectors] as const;
  }),
);
await server.stop(true);
rmSync(folder, { recursive: true });

let isFailed = (await child.exited) !== 0;
for (const name of [...Object.keys(expected), ...reencoded]) {
  const vectors = results.get(name);
  const isAsExpected = reencoded.includes(name)
    ? vectors?.length === 1
    : Bun.deepEquals(vectors, expected[name]);
  console.log(`${isAsExpected ? "ok    " : "FAILED"} ${name}`);
  isFailed ||= !isAsExpected;
}
process.exit(isFailed ? 1 : 0);
