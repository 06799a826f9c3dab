/** Serves a fake vendor over HTTP on a loopback port, records its requests, and injects faults on demand. */
import { sniffImage } from "../../server/lib/sniff-image.ts";
import { createFakeGenerator, type FakeGenerator } from "./fake-generator.ts";
import type { FakeVendor, VendorRequest, VendorResponse } from "./image-vendor.ts";

/** Injected faults of the vendor's response. */
export type InjectedFault =
  /** The response to the next generation request. The vendor does not handle that request. */
  | VendorResponse
  /**
   * The vendor accepts the next generation request; then the connection breaks, or no response comes, or an HTML page.
   */
  | "reset"
  | "hang"
  | "garbage"
  /** The next response with an image is cut in half: as a complete response, or by a broken connection. */
  | "truncated"
  | "cut"
  /** Every JSON response, and every event, has an additional field that is nested 100,000 levels deep. */
  | "deep"
  /** After a generation request, the next status request fails. */
  | "failed-poll";

export interface Exchange {
  readonly request: VendorRequest;
  /** As the vendor created it, before an injected fault. */
  readonly response: VendorResponse;
}

/** One fake vendor, until the next one is opened on the same server. */
export interface RunningFake {
  readonly generator: FakeGenerator;
  /** All exchanges except downloads of the generator's links and the list of models. */
  readonly exchanges: readonly Exchange[];
  /** Errors thrown by the fake itself: its defects, unless the generator injects a fault. */
  readonly ownErrors: readonly unknown[];
  /** `times`: the number of generation requests; by default one. */
  injectFault(fault: InjectedFault, times?: number): void;
  /** The fault hit only a status request, which may be repeated. */
  mayRecover(): boolean;
}

export interface VendorServer {
  readonly origin: string;
  /** A new vendor without state. Requests that are still in flight belong to the previous one. */
  open(): RunningFake;
  close(): void;
}

/** A request that generates images, as opposed to a request for a token or a job's status. */
const isGenerationRequest = ({ method, path, headers }: VendorRequest): boolean =>
  method === "POST" &&
  !/\burlencoded\b/.test(headers.get("content-type") ?? "") &&
  !/\/(?:oauth2?|token|identity)\b/i.test(path) &&
  !/\/cancel\b/i.test(path);

interface FakeState extends RunningFake {
  readonly exchanges: Exchange[];
  readonly ownErrors: unknown[];
  readonly respond: ReturnType<FakeVendor["open"]>;
  fault: InjectedFault | undefined;
  /** Remaining times. */
  times: number;
  /** The response that was altered by a fault. */
  brokenResponse: VendorResponse | undefined;
}

export function serveVendor(vendor: FakeVendor): VendorServer {
  let state = newState(vendor);
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    async fetch(raw) {
      const now = state;
      const { pathname, search } = new URL(raw.url);
      const linkedImage = raw.method === "GET" ? now.generator.serveLink(pathname) : undefined;
      if (linkedImage) return linkedImage;
      const request: VendorRequest = {
        method: raw.method,
        path: pathname + search,
        headers: raw.headers,
        body: new Uint8Array(await raw.arrayBuffer()),
        origin,
      };
      const fault = nextFault(now, request);
      const response = typeof fault === "object" ? fault : await responseOf(now, request);
      if (request.path !== vendor.modelList) now.exchanges.push({ request, response });
      if (typeof fault === "object") return toResponse(response);
      return deliver(now, response, fault);
    },
  });
  const origin = `http://127.0.0.1:${server.port}`;
  return {
    origin,
    open: () => {
      state = newState(vendor);
      return state;
    },
    close: () => {
      server.stop(true);
    },
  };
}

function newState(vendor: FakeVendor): FakeState {
  const generator = createFakeGenerator();
  const state: FakeState = {
    generator,
    exchanges: [],
    ownErrors: [],
    respond: vendor.open(generator),
    fault: undefined,
    times: 0,
    brokenResponse: undefined,
    injectFault: (fault, times = 1) => {
      state.fault = fault;
      state.times = times;
    },
    mayRecover: () => {
      const generation = state.exchanges.findIndex(({ request }) => isGenerationRequest(request));
      return (
        state.exchanges.findIndex(({ response }) => response === state.brokenResponse) > generation
      );
    },
  };
  return state;
}

const imageFaults: ReadonlySet<unknown> = new Set<InjectedFault>(["truncated", "cut"]);

export const deepJson = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;

/** The field comes first: a reader that reads in order meets it before the image. */
function withDeepField(response: VendorResponse): VendorResponse {
  const { body } = response;
  if (body instanceof Uint8Array) return response;
  const headers = headersOf(response);
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const deep = text.replace(/^(data: ?)?\{(?=")/gm, `$1{"x_trace":{"a":[1,${deepJson}]},`);
  return { ...response, headers, body: deep };
}

const serverError: VendorResponse = { status: 500, body: "Internal Server Error" };

/** Faults of images wait until a response has an image. */
function nextFault(state: FakeState, request: VendorRequest): InjectedFault | undefined {
  const { fault } = state;
  const due =
    fault === "failed-poll"
      ? state.exchanges.some((earlier) => isGenerationRequest(earlier.request))
      : isGenerationRequest(request) && !imageFaults.has(fault) && fault !== "deep";
  if (!due) return undefined;
  if (--state.times <= 0) state.fault = undefined;
  return fault === "failed-poll" ? serverError : fault;
}

async function responseOf(state: FakeState, request: VendorRequest): Promise<VendorResponse> {
  try {
    return await state.respond(request);
  } catch (thrown) {
    if (isResponse(thrown)) return thrown;
    state.ownErrors.push(thrown);
    return { status: 500, body: { error: "the fake failed" } };
  }
}

const isResponse = (thrown: unknown): thrown is VendorResponse =>
  typeof thrown === "object" && thrown !== null && !(thrown instanceof Error) && "body" in thrown;

const page = "<!doctype html><html><head><title>Welcome to nginx!</title></head></html>";

function deliver(
  state: FakeState,
  response: VendorResponse,
  fault: InjectedFault | undefined,
): Response | Promise<Response> {
  if (fault === "hang") return new Promise(() => undefined);
  if (fault === "reset") return new Response(breaksAfter());
  if (fault === "garbage") {
    return new Response(page, { headers: { "content-type": "text/html" } });
  }
  if (state.fault === "deep") return toResponse(withDeepField(response));
  const { body } = response;
  if (!imageFaults.has(state.fault) || !containsImage(state, body)) return toResponse(response);
  const { fault: injected } = state;
  state.fault = undefined;
  state.brokenResponse = response;
  const headers = headersOf(response);
  // Half an image without an envelope could pass for a whole one: there the connection must break.
  if (injected === "truncated" && !(body instanceof Uint8Array)) {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    return toResponse({ ...response, headers, body: halfOf(text) });
  }
  const bytes = bytesOf(body);
  const length = { "content-length": String(bytes.length) };
  return new Response(breaksAfter(bytes.subarray(0, bytes.length / 2)), {
    headers: { ...headers, ...length },
  });
}

/** A body that fails makes the server close the connection, before the first byte or after these chunks. */
function breaksAfter(...chunks: Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    pull: async (controller) => {
      const chunk = chunks.shift();
      if (chunk) controller.enqueue(chunk);
      else {
        // The chunks must arrive before the connection ends.
        await Bun.sleep(5);
        // Without a reason, which Bun would print.
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

function containsImage({ generator }: FakeState, body: VendorResponse["body"]): boolean {
  if (body instanceof Uint8Array) return true;
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const start = (image: Uint8Array) => Buffer.from(image.subarray(0, 48)).toString("base64");
  return text.includes("/studio/") || generator.images.some((image) => text.includes(start(image)));
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
