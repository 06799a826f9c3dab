/** Fake upstream: a scriptable OpenAI server on a loopback port, with fault injection and a record of every request. */

import { deliver, replacementFor } from "./fake-upstream/deliver.ts";
import { embeddings } from "./fake-upstream/embeddings.ts";
import { type FakeResponse, json, standardHeaders } from "./fake-upstream/fake-response.ts";
import { type FaultScope, Scripts } from "./fake-upstream/fault-scripts.ts";
import { type ImageRoutes, imageRoutes } from "./fake-upstream/images.ts";
import type { InjectedFault } from "./fake-upstream/injected-fault.ts";
import { listModels, showModel } from "./fake-upstream/models.ts";
import { missingKey, noUrl, Refusal, wrongKey, wrongMethod } from "./fake-upstream/refusal.ts";
import { newRecord, type RecordedRequest, readBody } from "./fake-upstream/request.ts";
import { openTcpProxy } from "./fake-upstream/tcp-proxy.ts";

export { fakeImage } from "./fake-upstream/fake-image.ts";
export type { InjectedFault } from "./fake-upstream/injected-fault.ts";
export type { Part, RecordedRequest } from "./fake-upstream/request.ts";
export { fakeTokens, fakeVector, quarterTokensOf } from "./fake-upstream/vectors.ts";

export interface Fake {
  /** Ends in `/v1`. */
  readonly url: string;
  /** In order of arrival. The fields of each are set while it is handled. */
  readonly requests: readonly RecordedRequest[];
  /** Injects a fault into the next request, into the next `times` requests, or into requests that match `when`. */
  script(fault: InjectedFault, aim?: FaultScope): void;
  /** Removes all scripts and all recorded requests. */
  clear(): void;
  /** Resolves when `count` requests have arrived since the start or the last `clear`. */
  arrived(count: number): Promise<void>;
  close(): void;
}

interface FakeOptions {
  readonly key?: string;
}

function authorize(request: RecordedRequest, key: string): void {
  const apiKey = /^Bearer\s+(.+)$/i.exec(request.headers.authorization ?? "")?.[1];
  if (apiKey === undefined) throw missingKey();
  if (apiKey !== key) throw wrongKey(apiKey);
}

function route(
  request: RecordedRequest,
  imageRouter: ImageRoutes,
  key: string,
  fault: InjectedFault,
): FakeResponse {
  const { method } = request;
  const path = request.path.split("?")[0]!;
  const file = path.startsWith("/files/")
    ? imageRouter.file(path.slice("/files/".length))
    : undefined;
  if (file) return file;
  authorize(request, key);
  const model = /^\/v1\/models\/(.+)$/.exec(path)?.[1];
  const routes: Record<string, [string, () => FakeResponse]> = {
    "/v1/embeddings": ["POST", () => embeddings(request, fault)],
    "/v1/images/generations": ["POST", () => imageRouter.generations(request, fault)],
    "/v1/images/edits": ["POST", () => imageRouter.edits(request, fault)],
    "/v1/models": ["GET", listModels],
  };
  const found = model
    ? (["GET", () => showModel(decodeURIComponent(model))] as const)
    : routes[path];
  if (!found) throw noUrl(method, path);
  if (found[0] !== method) throw wrongMethod(method, path);
  return found[1]();
}

export function startFake({ key = "sk-fake" }: FakeOptions = {}): Fake {
  const requests: RecordedRequest[] = [];
  const waiters = new Set<() => void>();
  const scripts = new Scripts();
  const imageRouter = imageRoutes(() => origin);

  /**
   * The valid response, unless the injected fault replaces it. Throws a Refusal where OpenAI would refuse the request.
   */
  async function respond(raw: Request, request: RecordedRequest): Promise<FakeResponse> {
    request.fault = scripts.take(request, true);
    const earlyResponse = request.fault && (replacementFor(request.fault) ?? json({}));
    if (earlyResponse) return earlyResponse;
    await readBody(raw, request);
    request.fault = scripts.take(request, false);
    const fault = request.fault ?? {};
    return replacementFor(fault) ?? route(request, imageRouter, key, fault);
  }

  const errorResponse = (error: unknown): FakeResponse => {
    if (error instanceof Refusal) return json(error.body, error.status);
    throw error;
  };

  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    maxRequestBodySize: 512 * 1024 * 1024,
    async fetch(raw, self): Promise<Response> {
      const port = self.requestIP(raw)?.port ?? 0;
      const request = newRecord(raw, port);
      requests.push(request);
      for (const check of waiters) check();
      let closedByFake = false;
      raw.signal.addEventListener("abort", () => {
        request.aborted = !closedByFake;
        request.endedAt = performance.now();
      });
      const response = await respond(raw, request).catch(errorResponse);
      request.status = response.status;
      const headers = { ...standardHeaders(request.id, request.startedAt), ...response.headers };
      const fault = request.fault ?? {};
      closedByFake = Boolean(fault.reset ?? fault.close ?? fault.stream === "cut");
      return deliver({ ...response, headers }, fault, proxy.connection(port), () => {
        request.endedAt = performance.now();
      });
    },
  });
  const proxy = openTcpProxy(server.port!);
  const origin = `http://127.0.0.1:${proxy.port}`;

  return {
    url: `${origin}/v1`,
    requests,
    script: (fault, aim) => scripts.add(fault, aim),
    clear: () => {
      scripts.clear();
      requests.length = 0;
    },
    arrived: (count) =>
      new Promise((resolve) => {
        const check = () => {
          if (requests.length < count) return;
          waiters.delete(check);
          resolve();
        };
        waiters.add(check);
        check();
      }),
    close: () => {
      proxy.close();
      server.stop(true);
    },
  };
}
