/**
 * The upstream of the bench of jobs, in a process of its own: `bun bench/jobs/upstream.ts`, prints its port. Embeddings
 * of 8 numbers, at once or within slots; images that count how often each prompt was sent.
 */
import { noisePng } from "../png.ts";
import { slots } from "./figures.ts";

const vector = Buffer.from(new Float32Array(8).fill(Math.sqrt(1 / 8)).buffer).toString("base64");
/** Serialized once per number of inputs: the upstream must not be the bottleneck. */
const written = new Map<number, string>();

function embeddings(count: number): string {
  const found = written.get(count);
  if (found !== undefined) return found;
  const data = Array.from({ length: count }, (_, index) => ({
    object: "embedding",
    index,
    embedding: vector,
  }));
  const usage = { prompt_tokens: 9 * count, total_tokens: 9 * count };
  const text = JSON.stringify({ object: "list", data, model: "text-embedding-3-small", usage });
  written.set(count, text);
  return text;
}

async function embed(request: Request): Promise<Response> {
  const { input } = (await request.json()) as { input: string | readonly string[] };
  const body = embeddings(typeof input === "string" ? 1 : input.length);
  return new Response(body, { headers: { "content-type": "application/json" } });
}

let busy = 0;
const queue: (() => void)[] = [];

/** Up to `slots.count` requests at a time take `slots.ms` each; others queue. */
async function embedInSlots(request: Request): Promise<Response> {
  if (busy >= slots.count) await new Promise<void>((resolve) => void queue.push(resolve));
  else busy++;
  await Bun.sleep(slots.ms);
  const next = queue.shift();
  if (next) next();
  else busy--;
  return embed(request);
}

const prompts = new Map<string, number>();
const image = noisePng({ width: 8, height: 8 }, 1).toString("base64");

async function generate(request: Request): Promise<Response> {
  const { prompt } = (await request.json()) as { prompt: string };
  prompts.set(prompt, (prompts.get(prompt) ?? 0) + 1);
  await Bun.sleep(20 + Math.random() * 80);
  return Response.json({ created: 1, data: [{ b64_json: image }] });
}

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  idleTimeout: 0,
  routes: {
    "/v1/embeddings": embed,
    "/slots/v1/embeddings": embedInSlots,
    "/v1/images/generations": generate,
    /** Images that were generated, and those of prompts that were sent before. */
    "/images": () => {
      const counts = [...prompts.values()];
      return Response.json({
        sent: counts.length,
        twice: counts.filter((count) => count > 1).length,
      });
    },
  },
  fetch: () => new Response("not found", { status: 404 }),
});

console.log(server.port);
