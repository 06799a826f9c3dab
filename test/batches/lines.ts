/** Lines of the input file of a batch, and those of its results. */
import OpenAI from "openai";
import { textFile } from "../files/two-projects.ts";
import { until } from "../until.ts";

export interface ResultLine {
  readonly id: string;
  readonly custom_id: string;
  readonly response: {
    readonly status_code: number;
    readonly request_id: string;
    readonly body: Readonly<Record<string, unknown>>;
  } | null;
  readonly error: { readonly code: string; readonly message: string } | null;
}

export const line = (custom_id: string, url: string, body: unknown): string =>
  `${JSON.stringify({ custom_id, method: "POST", url, body })}\n`;

export const embeddingLine = (id: string, input: unknown = id): string =>
  line(id, "/v1/embeddings", { model: "embedding-model", input, dimensions: 8 });

export const uploadLines = async (client: OpenAI, text: string): Promise<string> =>
  (await client.files.create({ file: await textFile(text), purpose: "batch" })).id;

export async function resultLines(client: OpenAI, fileId: string): Promise<ResultLine[]> {
  const text = await (await client.files.content(fileId)).text();
  return text
    .trimEnd()
    .split("\n")
    .map((each) => JSON.parse(each) as ResultLine);
}

type Batch = OpenAI.Batch;

export async function untilStatus(
  client: OpenAI,
  id: string,
  ...statuses: Batch["status"][]
): Promise<Batch> {
  let batch: Batch | undefined;
  await until(async () => {
    batch = await client.batches.retrieve(id);
    return statuses.includes(batch.status);
  });
  return batch as Batch;
}

export const endOfBatch = (client: OpenAI, id: string): Promise<Batch> =>
  untilStatus(client, id, "completed", "failed", "expired", "cancelled");

export const sdkOf = (baseURL: string, apiKey: string): OpenAI =>
  new OpenAI({ baseURL, apiKey, maxRetries: 0 });
