/** A law's calls: through the official client, with what is said on the wire kept beside it. */
import { expect } from "bun:test";
import OpenAI, { APIError, toFile } from "openai";
import type { ErrorBody, ErrorKind } from "../../contract/errors.ts";
import { sniffImage } from "../../server/lib/sniff-image.ts";
import { testKey } from "../harness.ts";
import type { Operation, Place, Role } from "./house.ts";
import { paint } from "./paint.ts";
import type { WatchedRow } from "./watch-ledger.ts";

/** What a law asks for; everything else is an option of the call. */
export interface Wish {
  readonly role?: Role;
  readonly prompt?: string;
  /** Of an edit. Absent: one picture. */
  readonly images?: readonly Uint8Array[];
  readonly mask?: Uint8Array;
  /** Pictures are sent as a list, even one alone. */
  readonly listed?: boolean;
  readonly [option: string]: unknown;
}

export interface Outcome {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly row: WatchedRow;
}

export interface Answer extends Outcome {
  readonly body: OpenAI.ImagesResponse;
}

export interface Refused extends Outcome {
  readonly error: ErrorBody["error"];
  readonly fault: ErrorKind;
}

export const usualPrompt = "an otter";
/** Large enough for every vendor that has a least size. */
export const sourceSize = 512;

/** A picture to be edited, unlike the others. */
export const source = (at: number, kind: "png" | "jpeg" | "webp" = "png"): Promise<Uint8Array> =>
  paint(`source ${at}`, { width: sourceSize, height: sourceSize, kind });

/** A multipart edit or a generation, whatever comes of it. */
export async function ask(place: Place, operation: Operation, wish: Wish = {}): Promise<Outcome> {
  const { client, heard } = listen(place);
  try {
    await call(client, place, operation, wish);
  } catch (error) {
    // What was refused is looked at below; what got no answer at all is a failure of the test.
    if (!(error instanceof APIError) || error.status === undefined) throw error;
  }
  return heard();
}

/** The same, asked as JSON and without the client, which cannot. */
export async function askJson(place: Place, path: string, body: object): Promise<Outcome> {
  place.gateway.resetTargets();
  return outcomeOf(place, await place.gateway.post(path, body));
}

export interface Events extends Outcome {
  readonly events: readonly OpenAI.ImageGenStreamEvent[];
}

export async function askStream(place: Place, operation: Operation, wish: Wish): Promise<Events> {
  const { client, heard } = listen(place);
  const events: OpenAI.ImageGenStreamEvent[] = [];
  try {
    const stream = await call(client, place, operation, { ...wish, stream: true });
    for await (const event of stream as unknown as AsyncIterable<OpenAI.ImageGenStreamEvent>) {
      events.push(event);
    }
  } catch (error) {
    if (!(error instanceof APIError)) throw error;
  }
  return { ...(await heard()), events };
}

/** The answer, or the test fails. */
export async function draw(place: Place, operation: Operation, wish?: Wish): Promise<Answer> {
  return answered(await ask(place, operation, wish));
}

export function answered(outcome: Outcome): Answer {
  expect(outcome.status, outcome.text.slice(0, 500)).toBe(200);
  return { ...outcome, body: JSON.parse(outcome.text) as OpenAI.ImagesResponse };
}

/** The refusal in OpenAI's shape, with nothing of the operator's in it and a row that says the same; or the test fails. */
export function refused(place: Place, outcome: Outcome): Refused {
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
  for (const secret of secretsOf(place)) {
    expect(`${JSON.stringify([...headers])}\n${text}`).not.toContain(secret);
  }
  // What was drawn is in the account, also where it could not be handed over.
  const isDrawn = row.steps?.includes(": generated") ?? false;
  expect(row).toMatchObject({ status, images: isDrawn ? expect.any(Number) : null });
  expect(row.error).not.toBe("internal");
  return { ...outcome, error, fault: row.error as ErrorKind };
}

/** Words of the configuration that are the operator's own. */
const ownWords = /key|secret|token|password|credential|account|project|tenant|user|email/i;

function secretsOf({ vendor, gateway, origins }: Place): string[] {
  const inside = (value: unknown, name: string): string[] => {
    if (typeof value === "string") return ownWords.test(name) && value.length >= 6 ? [value] : [];
    if (typeof value !== "object" || value === null) return [];
    return Object.entries(value).flatMap(([key, member]) => inside(member, key));
  };
  return [
    ...inside(vendor.config, ""),
    ...origins.map((origin) => new URL(origin).host),
    ...(vendor.model.length >= 5 ? [vendor.model] : []),
    ...["hidden-", "spare-", gateway.folder, ".ts:", "node_modules"],
  ];
}

/** A client that keeps the raw answer to its latest call. */
function listen(place: Place) {
  let raw: Response | undefined;
  const client = new OpenAI({
    baseURL: place.gateway.baseURL,
    apiKey: testKey,
    maxRetries: 0,
    fetch: async (url, init) => {
      // Each call stands for itself: what an earlier one met with must not send this one elsewhere.
      place.gateway.resetTargets();
      const response = await fetch(url, init);
      raw = response.clone() as Response;
      return response;
    },
  });
  const heard = (): Promise<Outcome> => {
    if (!raw) throw new Error("the gateway was not asked");
    return outcomeOf(place, raw);
  };
  return { client, heard };
}

async function outcomeOf(place: Place, response: Response): Promise<Outcome> {
  const { status, headers } = response;
  const text = await response.text();
  const id = headers.get("x-request-id") ?? "";
  place.calls.push(id);
  const row = place.rows().find(({ requestId }) => requestId === id);
  if (!row) throw new Error(`the ledger has no row for ${id}: ${text.slice(0, 300)}`);
  return { status, headers, text, row };
}

async function call(
  client: OpenAI,
  place: Place,
  operation: Operation,
  { role = "painter", prompt = usualPrompt, images, mask, listed, ...options }: Wish,
): Promise<unknown> {
  const body = { model: place.model(role), prompt, ...options };
  if (operation === "generations") return client.images.generate(body);
  const files = await Promise.all((images ?? [await source(0)]).map(upload));
  const [only] = files;
  return client.images.edit({
    ...body,
    // One alone is `image`, several are `image[]`.
    image: files.length === 1 && only && !listed ? only : files,
    ...(mask && { mask: await upload(mask) }),
  });
}

const upload = (bytes: Uint8Array): Promise<File> => {
  const type = sniffImage(bytes) ?? "application/octet-stream";
  return toFile(new Uint8Array(bytes), `picture.${type.replace("image/", "")}`, { type });
};
