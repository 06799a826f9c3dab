/** The response of an endpoint of the fake upstream, before `deliver` sends it. */

export interface FakeResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Bytes, or the frames of an event stream. */
  readonly body: Uint8Array | readonly string[];
}

export const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

export const json = (
  value: unknown,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): FakeResponse => ({
  status,
  headers: { "content-type": "application/json", ...headers },
  body: bytesOf(JSON.stringify(value, null, 2)),
});

export const html = (status: number, title: string): FakeResponse => ({
  status,
  headers: { "content-type": "text/html; charset=UTF-8" },
  body: bytesOf(
    `<html>\r\n<head><title>${title}</title></head>\r\n<body>\r\n<center><h1>${title}</h1></center>\r\n<hr><center>cloudflare</center>\r\n</body>\r\n</html>\r\n`,
  ),
});

/** The headers that OpenAI sends with every response. */
export const standardHeaders = (id: string, startedAt: number): Record<string, string> => ({
  "access-control-allow-origin": "*",
  "openai-organization": "org-fake",
  "openai-processing-ms": String(Math.max(1, Math.round(performance.now() - startedAt))),
  "openai-version": "2020-10-01",
  "x-request-id": id,
});
