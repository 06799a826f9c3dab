/** Serves a fake vendor over HTTP on a loopback port, records its requests, and injects faults on demand. */
import { sniffImage } from "../../server/lib/sniff-image.ts";
import type { PictureVendor, VendorRequest, VendorResponse } from "./image-vendor.ts";
import { type OpenStudio, openStudio } from "./studio.ts";

/** What may become of the vendor's answer. */
export type Mischief =
  /** The next order is answered with this instead. The vendor does not even look at it. */
  | VendorResponse
  /** The vendor takes the next order, and then the line breaks, or nothing is heard of it, or a page comes. */
  | "reset"
  | "hang"
  | "garbage"
  /** The next answer with a picture in it is half of one: as if it were all, or because the line broke. */
  | "truncated"
  | "cut"
  /** Every answer in JSON, and every event, has a field besides that is nested a hundred thousand deep. */
  | "deep"
  /** After an order, the next question about it meets with a breakdown. */
  | "stumble";

export interface Exchange {
  readonly request: VendorRequest;
  /** As the vendor meant it, whatever became of it. */
  readonly response: VendorResponse;
}

/** One vendor, from when it is opened until the next is opened in its place. */
export interface Served {
  readonly studio: OpenStudio;
  /** All but the visits to the studio's links. */
  readonly exchanges: readonly Exchange[];
  /** What the fake itself stumbled over: a mistake in it, unless the studio plays a trick on it. */
  readonly defects: readonly unknown[];
  /** `times`: so many orders, one if not said. */
  spoil(mischief: Mischief, times?: number): void;
  /** What was spoilt was no more than a question about an order, which may be asked again. */
  mayRecover(): boolean;
}

export interface VendorServer {
  readonly origin: string;
  /** A new vendor without memory. Requests that are still under way belong to the one before. */
  open(): Served;
  close(): void;
}

/** A question that makes the vendor draw, and not one for a token or about how far it is. */
export const isOrder = ({ method, path, headers }: VendorRequest): boolean =>
  method === "POST" &&
  !/\burlencoded\b/.test(headers.get("content-type") ?? "") &&
  !/\/(?:oauth2?|token|identity)\b/i.test(path) &&
  !/\/cancel\b/i.test(path);

interface Scene extends Served {
  readonly exchanges: Exchange[];
  readonly defects: unknown[];
  readonly answer: ReturnType<PictureVendor["open"]>;
  mischief: Mischief | undefined;
  /** How often still. */
  times: number;
  /** The answer that did not arrive as it was meant. */
  spoilt: VendorResponse | undefined;
}

export function serveVendor(vendor: PictureVendor): VendorServer {
  let scene = newScene(vendor);
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    async fetch(raw) {
      const now = scene;
      const { pathname, search } = new URL(raw.url);
      const visited = raw.method === "GET" ? now.studio.visit(pathname) : undefined;
      if (visited) return visited;
      const request: VendorRequest = {
        method: raw.method,
        path: pathname + search,
        headers: raw.headers,
        body: new Uint8Array(await raw.arrayBuffer()),
        origin,
      };
      const mischief = takeMischief(now, request);
      const response = typeof mischief === "object" ? mischief : await answerOf(now, request);
      now.exchanges.push({ request, response });
      if (typeof mischief === "object") return toResponse(response);
      return deliver(now, response, mischief);
    },
  });
  const origin = `http://127.0.0.1:${server.port}`;
  return {
    origin,
    open: () => {
      scene = newScene(vendor);
      return scene;
    },
    close: () => {
      server.stop(true);
    },
  };
}

function newScene(vendor: PictureVendor): Scene {
  const studio = openStudio();
  const scene: Scene = {
    studio,
    exchanges: [],
    defects: [],
    answer: vendor.open(studio),
    mischief: undefined,
    times: 0,
    spoilt: undefined,
    spoil: (mischief, times = 1) => {
      scene.mischief = mischief;
      scene.times = times;
    },
    mayRecover: () => {
      const order = scene.exchanges.findIndex(({ request }) => isOrder(request));
      return scene.exchanges.findIndex(({ response }) => response === scene.spoilt) > order;
    },
  };
  return scene;
}

const onPictures: ReadonlySet<unknown> = new Set<Mischief>(["truncated", "cut"]);

export const deepJson = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;

/** The field comes first: whoever reads in order meets with it before the picture. */
function deepened(response: VendorResponse): VendorResponse {
  const { body } = response;
  if (body instanceof Uint8Array) return response;
  const headers = headersOf(response);
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const deep = text.replace(/^(data: ?)?\{(?=")/gm, `$1{"x_trace":{"a":[1,${deepJson}]},`);
  return { ...response, headers, body: deep };
}

const stumble: VendorResponse = { status: 500, body: "Internal Server Error" };

/** Those about pictures wait until one comes. */
function takeMischief(scene: Scene, request: VendorRequest): Mischief | undefined {
  const { mischief } = scene;
  const due =
    mischief === "stumble"
      ? scene.exchanges.some((earlier) => isOrder(earlier.request))
      : isOrder(request) && !onPictures.has(mischief) && mischief !== "deep";
  if (!due) return undefined;
  if (--scene.times <= 0) scene.mischief = undefined;
  return mischief === "stumble" ? stumble : mischief;
}

async function answerOf(scene: Scene, request: VendorRequest): Promise<VendorResponse> {
  try {
    return await scene.answer(request);
  } catch (thrown) {
    if (isResponse(thrown)) return thrown;
    scene.defects.push(thrown);
    return { status: 500, body: { error: "the fake failed" } };
  }
}

const isResponse = (thrown: unknown): thrown is VendorResponse =>
  typeof thrown === "object" && thrown !== null && !(thrown instanceof Error) && "body" in thrown;

const page = "<!doctype html><html><head><title>Welcome to nginx!</title></head></html>";

function deliver(
  scene: Scene,
  response: VendorResponse,
  mischief: Mischief | undefined,
): Response | Promise<Response> {
  if (mischief === "hang") return new Promise(() => undefined);
  if (mischief === "reset") return new Response(breaksAfter());
  if (mischief === "garbage") {
    return new Response(page, { headers: { "content-type": "text/html" } });
  }
  if (scene.mischief === "deep") return toResponse(deepened(response));
  const { body } = response;
  if (!onPictures.has(scene.mischief) || !holdsPicture(scene, body)) return toResponse(response);
  const { mischief: wanted } = scene;
  scene.mischief = undefined;
  scene.spoilt = response;
  const headers = headersOf(response);
  // Half a picture without an envelope could pass for a whole one: there the line must break.
  if (wanted === "truncated" && !(body instanceof Uint8Array)) {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    return toResponse({ ...response, headers, body: halfOf(text) });
  }
  const bytes = bytesOf(body);
  const length = { "content-length": String(bytes.length) };
  return new Response(breaksAfter(bytes.subarray(0, bytes.length / 2)), {
    headers: { ...headers, ...length },
  });
}

/** A body that fails makes the server hang up, before the first byte or after these. */
function breaksAfter(...pieces: Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    pull: async (controller) => {
      const piece = pieces.shift();
      if (piece) controller.enqueue(piece);
      else {
        // What was sent before is to arrive before the end does.
        await Bun.sleep(5);
        // Without a reason, which would be printed for all to see.
        controller.error();
      }
    },
  });
}

const halfOf = (text: string): string => text.slice(0, Math.floor(text.length / 2));

const bytesOf = (body: VendorResponse["body"]): Uint8Array => {
  if (body instanceof Uint8Array) return body;
  return new TextEncoder().encode(typeof body === "string" ? body : JSON.stringify(body));
};

function holdsPicture({ studio }: Scene, body: VendorResponse["body"]): boolean {
  if (body instanceof Uint8Array) return true;
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const start = (picture: Uint8Array) => Buffer.from(picture.subarray(0, 48)).toString("base64");
  return (
    text.includes("/studio/") || studio.pictures.some((picture) => text.includes(start(picture)))
  );
}

function headersOf({ headers = {}, body }: VendorResponse): Record<string, string> {
  const small = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  return { "content-type": typeOf(body), ...Object.fromEntries(small) };
}

function typeOf(body: VendorResponse["body"]): string {
  if (body instanceof Uint8Array) return sniffImage(body) ?? "application/octet-stream";
  return typeof body === "string" ? "text/plain; charset=utf-8" : "application/json";
}

function toResponse(response: VendorResponse): Response {
  const { status = 200, body } = response;
  return new Response(new Uint8Array(bytesOf(body)), { status, headers: headersOf(response) });
}
