/** The clients of a program: they send its operations, and record what they got. */

import type { Gateways } from "./gateways.ts";
import {
  type EmbeddingsOp,
  type ImageOp,
  isEmbeddings,
  type Nano,
  nanoOf,
  type Op,
  type Program,
} from "./program.ts";
import { imageBase64 } from "./vendor.ts";
import type { Violation } from "./violation.ts";

export interface Outcome {
  readonly op: Op;
  /** Unix milliseconds. */
  readonly sentAt: number;
  endedAt: number;
  /** Undefined if there is no response, because the client left or the replica was killed. */
  status?: number;
  /** The client got the whole response; of a job: the job has completed. */
  isComplete: boolean;
  errorCode?: string | undefined;
  message?: string | undefined;
  /** The response says that a retry can succeed. */
  isTemporary?: boolean;
  /** The replica was killed, or the storage was away. */
  failure?: string;
  /** Of a batch that has ended. */
  batch?: { readonly id: string; readonly cost: Nano };
}

const headersOf = ({ team, id }: Op, secret: string): Record<string, string> => ({
  authorization: `Bearer ${secret}`,
  "content-type": "application/json",
  "vexel-tags": [`op:${id}`, ...(team === undefined ? [] : [`team:${team}`])].join(","),
});

const lineBody = ({ id, endUser, team, model }: Op, more: object) => ({
  model,
  ...more,
  ...(endUser !== undefined && { user: endUser }),
  metadata: { op: String(id), ...(team !== undefined && { team }) },
});

export class Clients {
  readonly outcomes = new Map<number, Outcome>();
  readonly #gateways: Gateways;
  readonly #readers = new Map<string, string>();
  readonly #secrets: ReadonlyMap<string, string>;

  constructor(gateways: Gateways, { keys }: Program) {
    this.#gateways = gateways;
    this.#secrets = new Map(keys.map(({ name, secret }) => [name, secret]));
  }

  /** The jobs of a revoked key are read with another key of its project. */
  revoke({ key, readBy }: { readonly key: string; readonly readBy: string }): void {
    this.#readers.set(key, readBy);
  }

  isRevoked(key: string): boolean {
    return this.#readers.has(key);
  }

  /** Sends the operation. Never rejects. */
  async run(op: Op): Promise<Outcome> {
    const outcome: Outcome = { op, sentAt: Date.now(), endedAt: 0, isComplete: false };
    this.outcomes.set(op.id, outcome);
    try {
      if (op.kind.includes("batch")) await this.#runBatch(op, outcome);
      else if (op.kind === "image-job") await this.#runJob(op as ImageOp, outcome);
      else await this.#runRequest(op, outcome);
    } catch (error) {
      outcome.failure = String(error);
    }
    outcome.endedAt = Date.now();
    return outcome;
  }

  #secretOf({ key }: Op): string {
    return this.#secrets.get(key) ?? "";
  }

  #readSecretOf({ key }: Pick<Op, "key">): string {
    return this.#secrets.get(this.#readers.get(key) ?? key) ?? "";
  }

  async #send(op: Op, outcome: Outcome, path: string, init: RequestInit): Promise<unknown> {
    const signals = [AbortSignal.timeout(20_000)];
    const isJob = op.kind.includes("batch") || op.kind === "image-job";
    if (op.leavesAfterMs !== undefined && !isJob)
      signals.push(AbortSignal.timeout(op.leavesAfterMs));
    const response = await fetch(`${this.#gateways.urlOf(op.replica)}${path}`, {
      ...init,
      signal: AbortSignal.any(signals),
      keepalive: false,
    });
    const text = await response.text();
    outcome.status = response.status;
    outcome.isTemporary = response.headers.has("retry-after");
    const body = JSON.parse(text) as { error?: { code?: string; message?: string } };
    if (response.status >= 400) {
      outcome.errorCode = body.error?.code;
      outcome.message = body.error?.message;
    } else outcome.isComplete = true;
    return body;
  }

  #post(op: Op, outcome: Outcome, path: string, body: object): Promise<unknown> {
    const headers = headersOf(op, this.#secretOf(op));
    return this.#send(op, outcome, path, { method: "POST", headers, body: JSON.stringify(body) });
  }

  async #runRequest(op: Op, outcome: Outcome): Promise<void> {
    const user = op.endUser === undefined ? {} : { user: op.endUser };
    if (isEmbeddings(op)) {
      const { model, texts } = op;
      const input = texts.length === 1 ? texts[0] : texts;
      await this.#post(op, outcome, "/v1/embeddings", { model, input, ...user });
      return;
    }
    const { model, count: n, prompts } = op;
    const prompt = prompts[0] as string;
    if (op.kind === "generation") {
      await this.#post(op, outcome, "/v1/images/generations", { model, prompt, n, ...user });
      return;
    }
    const images = [{ image_url: `data:image/png;base64,${imageBase64("a hat", 0)}` }];
    await this.#post(op, outcome, "/v1/images/edits", { model, prompt, n, images, ...user });
  }

  async #runJob(op: ImageOp, outcome: Outcome): Promise<void> {
    const { model, count: n, prompts, endUser } = op;
    const job = (await this.#post(op, outcome, "/v1/images/generations", {
      model,
      prompt: prompts[0],
      n,
      async: true,
      ...(endUser !== undefined && { user: endUser }),
    })) as { id: string };
    if (!outcome.isComplete) return;
    await this.#followJob(op, outcome, `/v1/images/jobs/${job.id}`);
  }

  async #runBatch(op: Op, outcome: Outcome): Promise<void> {
    const path = isEmbeddings(op) ? "/v1/embeddings" : "/v1/images/generations";
    const lines = linesOf(op).map((body, at) =>
      JSON.stringify({ custom_id: `${op.id}-${at}`, method: "POST", url: path, body }),
    );
    const form = new FormData();
    form.append("purpose", "batch");
    form.append("file", new Blob([`${lines.join("\n")}\n`]), "lines.jsonl");
    const authorization = `Bearer ${this.#secretOf(op)}`;
    const init = { method: "POST", headers: { authorization }, body: form };
    const file = (await this.#send(op, outcome, "/v1/files", init)) as { id: string };
    if (!outcome.isComplete) return;
    outcome.isComplete = false;
    const batch = (await this.#post(op, outcome, "/v1/batches", {
      input_file_id: file.id,
      endpoint: path,
      completion_window: "24h",
      metadata: { "vexel.batch": op.kind === "batch" ? "now" : "vendor" },
    })) as { id: string };
    if (!outcome.isComplete) return;
    await this.#followJob(op, outcome, `/v1/batches/${batch.id}`);
  }

  /** Until the job has ended. Another replica is asked if one does not respond. */
  async #followJob(op: Op, outcome: Outcome, path: string): Promise<void> {
    outcome.isComplete = false;
    const { leavesAfterMs } = op;
    const from = Date.now();
    let isCanceled = false;
    for (let replica = op.replica; Date.now() < from + 90_000; ) {
      await Bun.sleep(150);
      const url = `${this.#gateways.urlOf(replica)}${path}`;
      const headers = { authorization: `Bearer ${this.#readSecretOf(op)}` };
      if (leavesAfterMs !== undefined && !isCanceled && Date.now() > from + leavesAfterMs) {
        isCanceled = true;
        await fetch(`${url}/cancel`, { method: "POST", headers }).catch(() => undefined);
      }
      const response = await fetch(url, { headers, signal: AbortSignal.timeout(5000) }).catch(
        () => undefined,
      );
      if (response?.status !== 200) {
        replica++;
        continue;
      }
      const { id, status, vexel } = (await response.json()) as Job;
      if (endStatuses.includes(status)) {
        // The batch of a revoked key may be completed without all of its results.
        outcome.isComplete = status === "completed" && !this.isRevoked(op.key);
        if (op.kind.includes("batch"))
          outcome.batch = { id, cost: nanoOf(vexel?.cost?.actual ?? 0) };
        outcome.errorCode = status;
        return;
      }
    }
    outcome.failure = `the job ${path} has not ended`;
  }

  /** Waits until no key has a job that has not ended. Returns the jobs that do not end. */
  async jobsEnded(): Promise<Violation[]> {
    const end = Date.now() + 150_000;
    for (;;) {
      const open = await this.#openJobs();
      if (open.length === 0) return [];
      if (Date.now() > end)
        return open.map((text) => ({ law: "jobs: not ended", text: `${text} has not ended` }));
      await Bun.sleep(500);
    }
  }

  async #openJobs(): Promise<string[]> {
    const open: string[] = [];
    for (const key of this.#secrets.keys())
      for (const path of ["/v1/batches", "/v1/images/jobs"]) {
        const response = await fetch(`${this.#gateways.urlOf(0)}${path}?limit=100`, {
          headers: { authorization: `Bearer ${this.#readSecretOf({ key })}` },
        });
        if (response.status === 501) continue;
        if (response.status !== 200) {
          open.push(`${path} of ${key} (${response.status})`);
          continue;
        }
        const { data } = (await response.json()) as { data: { id: string; status: string }[] };
        for (const { id, status } of data)
          if (!endStatuses.includes(status)) open.push(`${id} of ${key} (${status})`);
      }
    return open;
  }
}

interface Job {
  readonly id: string;
  readonly status: string;
  readonly vexel?: { readonly cost: { readonly actual: number } | null };
}

const endStatuses = ["completed", "failed", "expired", "cancelled"];

function linesOf(op: Op): object[] {
  if (isEmbeddings(op)) {
    const more = op.model === "batched" ? { dimensions: 8 } : {};
    return (op as EmbeddingsOp).texts.map((input) => lineBody(op, { input, ...more }));
  }
  return op.prompts.map((prompt) => lineBody(op, { prompt, n: op.count }));
}
