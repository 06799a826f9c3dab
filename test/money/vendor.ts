/** A fake vendor of embeddings and images that misbehaves as the program says, and keeps an invoice. */
import { fakeImage } from "../fake-upstream/fake-image.ts";
import { openTcpProxy } from "../fake-upstream/tcp-proxy.ts";
import { asBase64, asFloats, fakeVector } from "../fake-upstream/vectors.ts";
import type { InvoiceLine } from "./invoice.ts";
import { type Behavior, isShared, nameOf, type Op, opOf } from "./program.ts";
import { Random } from "./random.ts";

export const dimensions = 8;

/** Per token, or per image. Null if the gateway has no price. `tokens`: input and output tokens of an image model. */
export type Prices = Readonly<
  Record<string, { readonly unit: number | null; readonly tokens?: readonly [number, number] }>
>;

export type Vendor = ReturnType<typeof startVendor>;

/** `ops`: by their ids. All vendors share `attempts`, the number of requests that had the text. */
export function startVendor(
  name: string,
  prices: Prices,
  ops: ReadonlyMap<number, Op>,
  attempts: Map<string, number>,
) {
  const invoice: InvoiceLine[] = [];
  const random = new Random(Bun.hash.crc32(name));

  /** The first behavior that is not `ok`, of the texts of one request. */
  const behaviorOf = (names: readonly string[]): Behavior => {
    const all = names.map((text): Behavior => {
      const attempt = attempts.get(text) ?? 0;
      attempts.set(text, attempt + 1);
      const own = isShared(text) ? undefined : ops.get(opOf(text));
      return own?.behaviors[attempt] ?? "ok";
    });
    return all.find((behavior) => behavior !== "ok") ?? "ok";
  };

  const respond = async (request: Request, port: number): Promise<Response> => {
    const { pathname } = new URL(request.url);
    const body = await readBody(request);
    const model = String(body.model);
    const price = prices[model];
    if (!price) return Response.json({ error: { message: `no model ${model}` } }, { status: 404 });
    const isImage = pathname.startsWith("/v1/images/");
    const texts = isImage ? [String(body.prompt)] : [body.input as string | string[]].flat();
    const names = texts.map(nameOf);
    const behavior = behaviorOf(names);
    const count = isImage ? Number(body.n ?? 1) : texts.length;
    const bytes = texts.reduce((sum, text) => sum + text.length, 0);
    const tokens = random.whole(Math.ceil(bytes / 4), bytes);
    const [outputTokens, perInput, perOutput] = [
      count * 1000 + tokens,
      ...(price.tokens ?? [0, 0]),
    ];
    const isPerToken = price.tokens !== undefined;
    const amountOf = (unit: number): number =>
      isPerToken
        ? tokens * perInput! + outputTokens * perOutput!
        : (isImage ? count : tokens) * unit;
    const line: InvoiceLine = {
      vendor: name,
      model,
      names,
      amount: price.unit === null ? null : amountOf(price.unit),
      least:
        price.unit === null
          ? 0
          : isPerToken
            ? 1
            : Math.floor((isImage ? count : bytes / 8) * price.unit),
      at: Date.now(),
      state: "maybe",
    };
    invoice.push(line);
    const error = (status: number, message: string): Response =>
      Response.json({ error: { message, type: "error", code: null } }, { status });
    const delayMs = behavior === "slow" ? random.whole(150, 600) : random.whole(1, 25);
    await Bun.sleep(delayMs + (isImage ? 30 : 0));
    if (behavior === "hangs") await aborted(request.signal);
    if (request.signal.aborted) return error(499, "closed");
    if (behavior === "busy" || behavior === "refused") {
      line.state = "refused";
      return behavior === "busy" ? error(429, "busy") : error(400, "refused");
    }
    if (behavior === "broken") return error(500, "broken");
    const isMetered = behavior !== "no-usage" && behavior !== "implausible";
    // The price of an image needs no usage.
    const isKnown = isMetered || (isImage && !isPerToken);
    const factor = behavior === "implausible" ? 1_000_000 : 1;
    const whole = isImage
      ? {
          created: 1,
          data: Array.from({ length: count }, (_, at) => ({ b64_json: image(texts[0]!, at) })),
          ...(behavior !== "no-usage" && {
            usage: imageUsage(tokens * factor, outputTokens * factor),
          }),
        }
      : {
          object: "list",
          model,
          data: texts.map((text, index) => ({
            object: "embedding",
            index,
            embedding: vectorOf(text, body.encoding_format),
          })),
          ...(behavior !== "no-usage" && {
            usage: { prompt_tokens: tokens * factor, total_tokens: tokens * factor },
          }),
        };
    if (behavior === "cut") {
      await proxy.connection(port)?.takeOver(halfOf(JSON.stringify(whole)), "close");
      return new Response();
    }
    line.state = isKnown ? "served" : "unmetered";
    return Response.json(whole);
  };

  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    fetch: (request, self) => respond(request, self.requestIP(request)?.port ?? 0),
    error: () => new Response("", { status: 500 }),
  });
  const proxy = openTcpProxy(server.port ?? 0);
  return {
    url: `http://127.0.0.1:${proxy.port}/v1`,
    invoice,
    close: () => {
      proxy.close();
      return server.stop(true);
    },
  };
}

const image = (prompt: string, at: number): string =>
  Buffer.from(fakeImage(prompt, at, { format: "png", width: 64, height: 64 })).toString("base64");

export const imageBase64 = image;

const imageUsage = (input: number, output: number) => ({
  total_tokens: input + output,
  input_tokens: input,
  output_tokens: output,
  input_tokens_details: { text_tokens: input, image_tokens: 0 },
});

export function vectorOf(text: string, format: unknown, length = dimensions) {
  const vector = fakeVector(text, length);
  return format === "base64" ? asBase64(vector) : asFloats(vector);
}

async function readBody(request: Request): Promise<Readonly<Record<string, unknown>>> {
  const type = request.headers.get("content-type") ?? "";
  if (!type.startsWith("multipart/")) return (await request.json()) as Record<string, unknown>;
  return Object.fromEntries(await request.formData());
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve());
    // The gateway has shorter timeouts.
    setTimeout(resolve, 20_000);
  });

/** Half of the body, and then the end of the connection. */
async function* halfOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text.slice(0, text.length / 2)}`,
  );
}
