/** Sends a law's requests through the official client, and records the raw responses. */
import { expect } from "bun:test";
import OpenAI, { APIError, toFile } from "openai";
import type { ErrorBody, ErrorKind } from "../../contract/errors.ts";
import { sniffImage } from "../../server/lib/sniff-image.ts";
import { testKey } from "../harness.ts";
import type { LawContext, Operation, Role } from "./law-gateway.ts";
import { createImage } from "./test-images.ts";
import type { WatchedRow } from "./watch-ledger.ts";

/** Options of a law's request; all other members are parameters of the request. */
export interface RequestOptions {
  readonly role?: Role;
  readonly prompt?: string;
  /** Of an edit. The default is one image. */
  readonly images?: readonly Uint8Array[];
  readonly mask?: Uint8Array;
  /** Images are sent as a list, even a single one. */
  readonly listed?: boolean;
  readonly [option: string]: unknown;
}

export interface VendorOutcome {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly row: WatchedRow;
}

export interface SuccessOutcome extends VendorOutcome {
  readonly body: OpenAI.ImagesResponse;
}

export interface ErrorOutcome extends VendorOutcome {
  readonly error: ErrorBody["error"];
  readonly kind: ErrorKind;
}

export const usualPrompt = "an otter";
/** Large enough for every vendor that has a minimum size. */
export const sourceSize = 512;

/** A source image of an edit; each index gives a different one. */
export const source = (at: number, kind: "png" | "jpeg" | "webp" = "png"): Promise<Uint8Array> =>
  createImage(`source ${at}`, { width: sourceSize, height: sourceSize, kind });

/** Sends a multipart edit or a generation, and returns a success or an error. */
export async function sendRequest(
  context: LawContext,
  operation: Operation,
  requestOptions: RequestOptions = {},
): Promise<VendorOutcome> {
  const { client, recordedOutcome } = recordingClient(context);
  try {
    await sendWithClient(client, context, operation, requestOptions);
  } catch (error) {
    // An error response is part of the outcome; a missing response fails the test.
    if (!(error instanceof APIError) || error.status === undefined) throw error;
  }
  return recordedOutcome();
}

export interface Events extends VendorOutcome {
  readonly events: readonly OpenAI.ImageGenStreamEvent[];
}

export async function sendStreaming(
  context: LawContext,
  operation: Operation,
  requestOptions: RequestOptions,
): Promise<Events> {
  const { client, recordedOutcome } = recordingClient(context);
  const events: OpenAI.ImageGenStreamEvent[] = [];
  try {
    const stream = await sendWithClient(client, context, operation, {
      ...requestOptions,
      stream: true,
    });
    for await (const event of stream as unknown as AsyncIterable<OpenAI.ImageGenStreamEvent>) {
      events.push(event);
    }
  } catch (error) {
    if (!(error instanceof APIError)) throw error;
  }
  return { ...(await recordedOutcome()), events };
}

/** The success response, or the test fails. */
export async function generate(
  context: LawContext,
  operation: Operation,
  requestOptions?: RequestOptions,
): Promise<SuccessOutcome> {
  return expectSuccess(await sendRequest(context, operation, requestOptions));
}

export function expectSuccess(outcome: VendorOutcome): SuccessOutcome {
  expect(outcome.status, outcome.text.slice(0, 500)).toBe(200);
  return { ...outcome, body: JSON.parse(outcome.text) as OpenAI.ImagesResponse };
}

/** The error in OpenAI's format, without the operator's secrets and with a matching ledger row, or the test fails. */
export function expectRefusal(context: LawContext, outcome: VendorOutcome): ErrorOutcome {
  const { status, headers, text, row } = outcome;
  expect(status, text.slice(0, 500)).toBeGreaterThanOrEqual(400);
  expect(headers.get("content-type")).toBe("application/json");
  const { error, ...others } = JSON.parse(text) as ErrorBody;
  expect(others).toEqual({});
  expect(error.message).toBeString();
  expect(error.message).not.toBe("");
  expect(error.type).toBeString();
  for (const member of [error.param, error.code]) {
    expect(member === null || typeof member === "string").toBe(true);
  }
  for (const secret of secretsOf(context)) {
    expect(`${JSON.stringify([...headers])}\n${text}`).not.toContain(secret);
  }
  // Generated images are in the ledger, also where they could not be delivered.
  const isGenerated = row.steps?.includes(": generated") ?? false;
  expect(row).toMatchObject({ status, images: isGenerated ? expect.any(Number) : null });
  expect(row.error).not.toBe("internal");
  return { ...outcome, error, kind: row.error as ErrorKind };
}

/** Names of settings that hold the operator's secrets. */
const operatorSettings = /key|secret|token|password|credential|account|project|tenant|user|email/i;

function secretsOf({ vendor, gateway, origins }: LawContext): string[] {
  const inside = (value: unknown, name: string): string[] => {
    if (typeof value === "string")
      return operatorSettings.test(name) && value.length >= 6 ? [value] : [];
    if (typeof value !== "object" || value === null) return [];
    return Object.entries(value).flatMap(([key, member]) => inside(member, key));
  };
  return [
    ...inside(vendor.config, ""),
    ...origins.map((origin) => new URL(origin).host),
    ...(vendor.model.length >= 5 ? [vendor.model] : []),
    "hidden-",
    "spare-",
    gateway.folder,
    ".ts:",
    "node_modules",
  ];
}

/** A client that records the raw response to its latest request. */
function recordingClient(context: LawContext) {
  let raw: Response | undefined;
  const client = new OpenAI({
    baseURL: context.gateway.baseURL,
    apiKey: testKey,
    maxRetries: 0,
    fetch: async (url, init) => {
      // Requests are independent: errors of an earlier one must not change the target of this one.
      context.gateway.resetTargets();
      const response = await fetch(url, init);
      raw = response.clone() as Response;
      return response;
    },
  });
  const recordedOutcome = (): Promise<VendorOutcome> => {
    if (!raw) throw new Error("the gateway got no request");
    return outcomeOf(context, raw);
  };
  return { client, recordedOutcome };
}

async function outcomeOf(context: LawContext, response: Response): Promise<VendorOutcome> {
  const { status, headers } = response;
  const text = await response.text();
  const id = headers.get("x-request-id") ?? "";
  context.requestIds.push(id);
  const row = context.rows().find(({ requestId }) => requestId === id);
  if (!row) throw new Error(`the ledger has no row for ${id}: ${text.slice(0, 300)}`);
  return { status, headers, text, row };
}

async function sendWithClient(
  client: OpenAI,
  context: LawContext,
  operation: Operation,
  { role = "single", prompt = usualPrompt, images, mask, listed, ...options }: RequestOptions,
): Promise<unknown> {
  const body = { model: context.model(role), prompt, ...options };
  if (operation === "generations") return client.images.generate(body);
  const files = await Promise.all((images ?? [await source(0)]).map(upload));
  const [only] = files;
  return client.images.edit({
    ...body,
    // A single one is `image`, several are `image[]`.
    image: files.length === 1 && only && !listed ? only : files,
    ...(mask && { mask: await upload(mask) }),
  });
}

const upload = (bytes: Uint8Array): Promise<File> => {
  const type = sniffImage(bytes) ?? "application/octet-stream";
  return toFile(new Uint8Array(bytes), `picture.${type.replace("image/", "")}`, { type });
};
