/** Fixture of the tests of image adapters: a query, a target, and scripted responses. */
import { noRequestTemp } from "../../server/temp-storage/request-temp.ts";
import type { Adapter, PendingOperation, UpstreamRequest } from "../../server/upstream/adapter.ts";
import type {
  BufferedImageResponse,
  EditQuery,
  FilePart,
  GenerationQuery,
  ImageSource,
  Target,
} from "../../server/upstream/contract.ts";
import { readAll } from "../chunks.ts";
import { upstreamResponseOf } from "../laws/adapter-cases.ts";

export const apiKey = "key-0123456789abcdef";

export const targetOf = (kind: string, model: string, baseUrl?: string): Target => ({
  model,
  upstream: { id: "u", kind, apiKey, headers: {}, options: {}, ...(baseUrl && { baseUrl }) },
});

export const query = (more: Partial<GenerationQuery> = {}): GenerationQuery => ({
  model: "public-model",
  prompt: "an otter",
  stream: false,
  options: {},
  extraFields: {},
  ...more,
});

const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
  "base64",
);

export const file: FilePart = {
  field: "image",
  filename: "otter.png",
  type: "image/png",
  size: png.length,
  stream: () => new Blob([png]).stream(),
  bytes: async () => png,
};

export const edit = (...images: ImageSource[]): EditQuery => ({ ...query(), images, files: [] });

/** The response as mapped by the adapter. */
export const read = async (
  adapter: Adapter,
  target: Target,
  body: object,
  imageQuery: GenerationQuery = query(),
): Promise<BufferedImageResponse | PendingOperation> =>
  (await adapter.generations!.fromUpstream(upstreamResponseOf(JSON.stringify(body)), {
    query: imageQuery,
    target,
    temp: noRequestTemp,
  })) as BufferedImageResponse | PendingOperation;

export async function bodyOf({ body }: UpstreamRequest): Promise<Record<string, unknown>> {
  if (typeof body === "string") return JSON.parse(body);
  return JSON.parse((await readAll(body!.open())).toString());
}
