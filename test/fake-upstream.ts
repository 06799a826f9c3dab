/** A scriptable OpenAI on a loopback port. Tests start one or several, talk to it, and look at what came. */

import { type Answer, json, standardHeaders } from "./fake-upstream/answer.ts";
import { deliver, replaced } from "./fake-upstream/deliver.ts";
import { embeddings } from "./fake-upstream/embeddings.ts";
import { openFront } from "./fake-upstream/front.ts";
import { type ImageDesk, imageDesk } from "./fake-upstream/images.ts";
import { type Aim, type Mischief, Scripts } from "./fake-upstream/mischief.ts";
import { listModels, showModel } from "./fake-upstream/models.ts";
import { missingKey, noUrl, Refusal, wrongKey, wrongMethod } from "./fake-upstream/refusal.ts";
import { newRecord, type RecordedRequest, readBody } from "./fake-upstream/request.ts";

export type { Mischief } from "./fake-upstream/mischief.ts";
export { fakePicture } from "./fake-upstream/pictures.ts";
export type { Part, RecordedRequest } from "./fake-upstream/request.ts";
export { fakeTokens, fakeVector, quarterTokensOf } from "./fake-upstream/vectors.ts";

export interface Fake {
  /** Ends in `/v1`. */
  readonly url: string;
  /** In order of arrival; each fills in as it goes on. */
  readonly requests: readonly RecordedRequest[];
  /** Misbehave on the next request, on the next `times`, or on those that match `when`. */
  script(mischief: Mischief, aim?: Aim): void;
  /** Forget all scripts and all records. */
  clear(): void;
  /** Resolves when so many requests have arrived since the start or the last `clear`. */
  arrived(count: number): Promise<void>;
  close(): void;
}

export interface FakeOptions {
  readonly key?: string;
}

function authorize(request: RecordedRequest, key: string): void {
  const given = /^Bearer\s+(.+)$/i.exec(request.headers.authorization ?? "")?.[1];
  if (given === undefined) throw missingKey();
  if (given !== key) throw wrongKey(given);
}

function route(request: RecordedRequest, desk: ImageDesk, key: string, mischief: Mischief): Answer {
  const { method } = request;
  const path = request.path.split("?")[0]!;
  const file = path.startsWith("/files/") ? desk.file(path.slice("/files/".length)) : undefined;
  if (file) return file;
  authorize(request, key);
  const model = /^\/v1\/models\/(.+)$/.exec(path)?.[1];
  const routes: Record<string, [string, () => Answer]> = {
    "/v1/embeddings": ["POST", () => embeddings(request, mischief)],
    "/v1/images/generations": ["POST", () => desk.generations(request, mischief)],
    "/v1/images/edits": ["POST", () => desk.edits(request, mischief)],
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
  const waiting = new Set<() => void>();
  const scripts = new Scripts();
  const desk = imageDesk(() => origin);

  /** The right answer, unless mischief has another one. Throws a Refusal as OpenAI would. */
  async function answer(raw: Request, request: RecordedRequest): Promise<Answer> {
    request.mischief = scripts.take(request, true);
    const early = request.mischief && (replaced(request.mischief) ?? json({}));
    if (early) return early;
    await readBody(raw, request);
    request.mischief = scripts.take(request, false);
    const mischief = request.mischief ?? {};
    return replaced(mischief) ?? route(request, desk, key, mischief);
  }

  const refused = (error: unknown): Answer => {
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
      for (const look of waiting) look();
      let ours = false;
      raw.signal.addEventListener("abort", () => {
        request.aborted = !ours;
        request.endedAt = performance.now();
      });
      const right = await answer(raw, request).catch(refused);
      request.status = right.status;
      const headers = { ...standardHeaders(request.id, request.startedAt), ...right.headers };
      const mischief = request.mischief ?? {};
      ours = Boolean(mischief.reset ?? mischief.close ?? mischief.stream === "cut");
      return deliver({ ...right, headers }, mischief, front.connection(port), () => {
        request.endedAt = performance.now();
      });
    },
  });
  const front = openFront(server.port!);
  const origin = `http://127.0.0.1:${front.port}`;

  return {
    url: `${origin}/v1`,
    requests,
    script: (mischief, aim) => scripts.add(mischief, aim),
    clear: () => {
      scripts.clear();
      requests.length = 0;
    },
    arrived: (count) =>
      new Promise((resolve) => {
        const look = () => {
          if (requests.length < count) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
    close: () => {
      front.close();
      server.stop(true);
    },
  };
}
