/** Fake of OpenAI's image endpoints, and of compatible servers. */
import { readForm, readReferences } from "../../fake-upstream/edit-images.ts";
import { fakeImage } from "../../fake-upstream/fake-image.ts";
import { sniff } from "../../fake-upstream/image-info.ts";
import { readImageQuery } from "../../fake-upstream/image-query.ts";
import { missingKey, Refusal, wrongKey } from "../../fake-upstream/refusal.ts";
import { newRecord, type RecordedRequest, readBody } from "../../fake-upstream/request.ts";
import { words } from "../../words.ts";
import {
  formOf,
  type ImageGenerator,
  jsonOf,
  type ParsedRequest,
  type VendorRequest,
  type VendorResponse,
} from "../image-vendor.ts";

export interface Dialect {
  /** Knows its models, and refuses fields that they do not have. */
  readonly strict: boolean;
  readonly key: string;
}

/** A request, with images of a form or of JSON. */
interface RequestParts {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly operation: "generations" | "edits" | "json-edits";
  readonly images?: readonly Uint8Array[];
  readonly mask?: Uint8Array | undefined;
}

export const generations = (
  request: VendorRequest,
  generator: ImageGenerator,
  dialect: Dialect,
): Promise<VendorResponse> =>
  inOpenaiShape(async () => {
    authorize(request, dialect);
    const parts: RequestParts = { fields: jsonOf(request), operation: "generations" };
    return respond(parts, request, generator, dialect);
  });

export const edits = (
  request: VendorRequest,
  generator: ImageGenerator,
  dialect: Dialect,
): Promise<VendorResponse> =>
  inOpenaiShape(async () => {
    authorize(request, dialect);
    const record = await recordOf(request);
    const parts = record.form ? await partsOfForm(request, record) : partsOfJson(request);
    return respond(parts, request, generator, dialect);
  });

async function inOpenaiShape(run: () => Promise<VendorResponse>): Promise<VendorResponse> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof Refusal) return { status: error.status, body: error.body };
    throw error;
  }
}

function authorize({ headers }: VendorRequest, { key }: Dialect): void {
  const apiKey = /^Bearer (.+)$/.exec(headers.get("authorization") ?? "")?.[1];
  if (apiKey === undefined) throw missingKey();
  if (apiKey !== key) throw wrongKey(apiKey);
}

async function recordOf({ origin, path, ...init }: VendorRequest): Promise<RecordedRequest> {
  const raw = new Request(`${origin}${path}`, { ...init, body: new Uint8Array(init.body) });
  const record = newRecord(raw, 0);
  await readBody(raw, record);
  return record;
}

async function partsOfForm(request: VendorRequest, record: RecordedRequest): Promise<RequestParts> {
  const { fields } = readForm(record.form ?? []);
  const form = await formOf(request);
  const filesIn = (name: string) =>
    Promise.all(form.getAll(name).flatMap((part) => (part instanceof Blob ? [part.bytes()] : [])));
  const images = [...(await filesIn("image")), ...(await filesIn("image[]"))];
  const [mask] = await filesIn("mask");
  return { fields, operation: "edits", images, mask };
}

function partsOfJson(request: VendorRequest): RequestParts {
  const body = jsonOf(request);
  const { fields } = readReferences(body);
  const bytesIn = (reference: unknown): Uint8Array => {
    const { image_url = "" } = reference as { image_url?: string };
    return Buffer.from(image_url.slice(image_url.indexOf(",") + 1), "base64");
  };
  return {
    fields,
    operation: "json-edits",
    images: (body.images as unknown[]).map(bytesIn),
    mask: body.mask === undefined ? undefined : bytesIn(body.mask),
  };
}

const options = words(`
  quality background moderation style output_format output_compression user safety_identifier
  input_fidelity
`);

const parseRequest = ({ fields, images, mask }: RequestParts): ParsedRequest => {
  const { prompt, n = 1, size } = fields;
  return {
    prompt: String(prompt),
    n: Number(n),
    ...(typeof size === "string" && size !== "auto" && { size }),
    options: Object.fromEntries(
      options.flatMap((name) => (fields[name] === undefined ? [] : [[name, fields[name]]])),
    ),
    ...(images && { images }),
    ...(mask && { mask }),
  };
};

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
const created = 1_713_833_628;
/** Tokens of each image, and of the prompt. */
const usageOf = (generated: number) => ({
  total_tokens: 10 + 1056 * generated,
  input_tokens: 10,
  output_tokens: 1056 * generated,
  input_tokens_details: { text_tokens: 10, image_tokens: 0 },
});

const unknownSize = { width: 1024, height: 1024 } as const;

async function respond(
  parts: RequestParts,
  { origin }: VendorRequest,
  generator: ImageGenerator,
  { strict }: Dialect,
): Promise<VendorResponse> {
  const { fields } = parts;
  const query = strict ? readImageQuery(fields, parts.operation) : undefined;
  const format = (fields.output_format ?? "png") as "png" | "jpeg" | "webp";
  const generated = await generator.generate(parseRequest(parts), format);
  if (query?.model.family === "gpt") {
    const metadataOf = (image: Uint8Array) => {
      const { format: actualFormat, width, height } = sniff(image) ?? { format, ...unknownSize };
      return {
        background: query.transparent ? "transparent" : "opaque",
        output_format: actualFormat,
        quality: query.quality,
        size: `${width}x${height}`,
      };
    };
    if (query.stream) return streamed(parts, generated, metadataOf, query.partials);
    const usage = usageOf(generated.length);
    return {
      body: {
        created,
        ...metadataOf(generated[0] ?? new Uint8Array()),
        data: generated.map((image) => ({ b64_json: base64(image) })),
        usage: {
          ...usage,
          output_tokens_details: { text_tokens: 0, image_tokens: usage.output_tokens },
        },
      },
    };
  }
  return {
    body: {
      created,
      data: generated.map((image) => ({
        ...(query && { revised_prompt: `Revised: ${String(fields.prompt)}` }),
        ...(fields.response_format === "b64_json"
          ? { b64_json: base64(image) }
          : { url: generator.link(image, origin) }),
      })),
    },
  };
}

function streamed(
  { fields, operation }: RequestParts,
  generated: readonly Uint8Array[],
  metadataOf: (image: Uint8Array) => object,
  partials: number,
): VendorResponse {
  const family = operation === "generations" ? "image_generation" : "image_edit";
  const frame = (type: string, payload: object): string =>
    `event: ${family}.${type}\ndata: ${JSON.stringify({ type: `${family}.${type}`, ...payload })}\n\n`;
  const partialImage = (at: number) =>
    fakeImage(String(fields.prompt), at, { format: "png", width: 16, height: 16 });
  const partialImages = Array.from({ length: partials }, (_, at) => partialImage(at));
  const frames = generated.flatMap((image) => [
    ...partialImages.map((sketch, at) =>
      frame("partial_image", {
        b64_json: base64(sketch),
        created_at: created,
        ...metadataOf(sketch),
        partial_image_index: at,
      }),
    ),
    frame("completed", {
      b64_json: base64(image),
      created_at: created,
      ...metadataOf(image),
      usage: usageOf(1),
    }),
  ]);
  return {
    headers: { "content-type": "text/event-stream; charset=utf-8" },
    body: frames.join(""),
  };
}
