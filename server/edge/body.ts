/** Step 3: a JSON body, read once and bounded. */
import type { JsonBody } from "../gateway/incoming.ts";
import { GatewayError } from "../std/gateway-error.ts";

const decoder = new TextDecoder("utf-8", { fatal: true });

export async function readJson(request: Request, maxBytes: number): Promise<JsonBody> {
  checkType(request.headers.get("content-type"));
  const bytes = await readBytes(request, maxBytes);
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch (cause) {
    throw new GatewayError("invalid_json", "The body is not valid UTF-8.", { cause });
  }
  try {
    return { value: JSON.parse(text), bytes: bytes.length };
  } catch (cause) {
    throw new GatewayError(
      "invalid_json",
      `We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly. The gateway expects a JSON payload, but what was sent was not valid JSON${bytes.length === 0 ? ": the body was empty" : ""}.)`,
      { cause },
    );
  }
}

/** No type at all is taken for JSON, as the clients of the first days sent none. */
function checkType(type: string | null): void {
  if (type === null || /^application\/(json|[\w.+-]+\+json)\s*(;|$)/i.test(type)) return;
  throw new GatewayError(
    "unsupported_content_type",
    `Unsupported content type: '${type.slice(0, 100)}'. This path only accepts 'application/json' requests. Please try again with a supported content type.`,
  );
}

export const tooLarge = (maxBytes: number): GatewayError =>
  new GatewayError(
    "request_too_large",
    `The body is larger than the ${maxBytes} bytes that are allowed here.`,
  );

async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array> {
  const announced = Number(request.headers.get("content-length") ?? Number.NaN);
  if (announced > maxBytes) throw tooLarge(maxBytes);
  try {
    if (announced >= 0) return await request.bytes();
    const chunks: Uint8Array[] = [];
    let length = 0;
    for await (const chunk of request.body ?? []) {
      length += chunk.length;
      if (length > maxBytes) throw tooLarge(maxBytes);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } catch (error) {
    throw error instanceof GatewayError ? error : cutShort(error);
  }
}

export const cutShort = (cause: unknown): GatewayError =>
  new GatewayError("incomplete_body", "The body ended before it was complete.", { cause });
