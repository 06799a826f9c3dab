/** How OpenAI takes an order for pictures and answers it; and how servers do that imitate it. */
import { readForm, readReferences } from "../../fake-upstream/edit-images.ts";
import { fakeImage } from "../../fake-upstream/fake-image.ts";
import { sniff } from "../../fake-upstream/image-info.ts";
import { readImageQuery } from "../../fake-upstream/image-query.ts";
import { missingKey, Refusal, wrongKey } from "../../fake-upstream/refusal.ts";
import { newRecord, type RecordedRequest, readBody } from "../../fake-upstream/request.ts";
import {
  formOf,
  jsonOf,
  type Order,
  type Studio,
  type VendorRequest,
  type VendorResponse,
} from "../image-vendor.ts";

export interface Speech {
  /** Knows its models, and refuses fields that they do not have. */
  readonly strict: boolean;
  readonly key: string;
}

/** What an order says, whichever way its pictures came. */
interface Call {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly operation: "generations" | "edits" | "json-edits";
  readonly images?: readonly Uint8Array[];
  readonly mask?: Uint8Array | undefined;
}

export const generations = (
  request: VendorRequest,
  studio: Studio,
  speech: Speech,
): Promise<VendorResponse> =>
  inItsWords(async () => {
    authorize(request, speech);
    const call: Call = { fields: jsonOf(request), operation: "generations" };
    return answer(call, request, studio, speech);
  });

export const edits = (
  request: VendorRequest,
  studio: Studio,
  speech: Speech,
): Promise<VendorResponse> =>
  inItsWords(async () => {
    authorize(request, speech);
    const record = await recordOf(request);
    const call = record.form ? await formCall(request, record) : jsonCall(request);
    return answer(call, request, studio, speech);
  });

async function inItsWords(say: () => Promise<VendorResponse>): Promise<VendorResponse> {
  try {
    return await say();
  } catch (error) {
    if (error instanceof Refusal) return { status: error.status, body: error.body };
    throw error;
  }
}

function authorize({ headers }: VendorRequest, { key }: Speech): void {
  const given = /^Bearer (.+)$/.exec(headers.get("authorization") ?? "")?.[1];
  if (given === undefined) throw missingKey();
  if (given !== key) throw wrongKey(given);
}

async function recordOf({ origin, path, ...init }: VendorRequest): Promise<RecordedRequest> {
  const raw = new Request(`${origin}${path}`, { ...init, body: new Uint8Array(init.body) });
  const record = newRecord(raw, 0);
  await readBody(raw, record);
  return record;
}

async function formCall(request: VendorRequest, record: RecordedRequest): Promise<Call> {
  const { fields } = readForm(record.form ?? []);
  const form = await formOf(request);
  const filesIn = (name: string) =>
    Promise.all(form.getAll(name).flatMap((part) => (part instanceof Blob ? [part.bytes()] : [])));
  const images = [...(await filesIn("image")), ...(await filesIn("image[]"))];
  const [mask] = await filesIn("mask");
  return { fields, operation: "edits", images, mask };
}

function jsonCall(request: VendorRequest): Call {
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

const told = [
  ...["quality", "background", "moderation", "style", "output_format", "output_compression"],
  ...["user", "safety_identifier", "input_fidelity"],
];

const orderOf = ({ fields, images, mask }: Call): Order => {
  const { prompt, n = 1, size } = fields;
  return {
    prompt: String(prompt),
    n: Number(n),
    ...(typeof size === "string" && size !== "auto" && { size }),
    options: Object.fromEntries(
      told.flatMap((name) => (fields[name] === undefined ? [] : [[name, fields[name]]])),
    ),
    ...(images && { images }),
    ...(mask && { mask }),
  };
};

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
const created = 1_713_833_628;
/** One for each picture, and a share of the prompt. */
const usageOf = (pictures: number) => ({
  total_tokens: 10 + 1056 * pictures,
  input_tokens: 10,
  output_tokens: 1056 * pictures,
  input_tokens_details: { text_tokens: 10, image_tokens: 0 },
});

const unseen = { width: 1024, height: 1024 } as const;

async function answer(
  call: Call,
  { origin }: VendorRequest,
  studio: Studio,
  { strict }: Speech,
): Promise<VendorResponse> {
  const { fields } = call;
  const query = strict ? readImageQuery(fields, call.operation) : undefined;
  const format = (fields.output_format ?? "png") as "png" | "jpeg" | "webp";
  const pictures = await studio.take(orderOf(call), format);
  if (query?.model.family === "gpt") {
    const looks = (picture: Uint8Array) => {
      const { format: seenAs, width, height } = sniff(picture) ?? { format, ...unseen };
      return {
        background: query.transparent ? "transparent" : "opaque",
        output_format: seenAs,
        quality: query.quality,
        size: `${width}x${height}`,
      };
    };
    if (query.stream) return streamed(call, pictures, looks, query.partials);
    const usage = usageOf(pictures.length);
    return {
      body: {
        created,
        ...looks(pictures[0] ?? new Uint8Array()),
        data: pictures.map((picture) => ({ b64_json: base64(picture) })),
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
      data: pictures.map((picture) => ({
        ...(query && { revised_prompt: `Revised: ${String(fields.prompt)}` }),
        ...(fields.response_format === "b64_json"
          ? { b64_json: base64(picture) }
          : { url: studio.link(picture, origin) }),
      })),
    },
  };
}

function streamed(
  { fields, operation }: Call,
  pictures: readonly Uint8Array[],
  looks: (picture: Uint8Array) => object,
  partials: number,
): VendorResponse {
  const family = operation === "generations" ? "image_generation" : "image_edit";
  const frame = (type: string, payload: object): string =>
    `event: ${family}.${type}\ndata: ${JSON.stringify({ type: `${family}.${type}`, ...payload })}\n\n`;
  const preview = (at: number) =>
    fakeImage(String(fields.prompt), at, { format: "png", width: 16, height: 16 });
  const previews = Array.from({ length: partials }, (_, at) => preview(at));
  const frames = pictures.flatMap((picture) => [
    ...previews.map((sketch, at) =>
      frame("partial_image", {
        b64_json: base64(sketch),
        created_at: created,
        ...looks(sketch),
        partial_image_index: at,
      }),
    ),
    frame("completed", {
      b64_json: base64(picture),
      created_at: created,
      ...looks(picture),
      usage: usageOf(1),
    }),
  ]);
  return {
    headers: { "content-type": "text/event-stream; charset=utf-8" },
    body: frames.join(""),
  };
}
