/** Reads server-sent events from a response: the `data` of each event as text. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let buffered = "";
  for (;;) {
    const { done, value } = await reader.read();
    buffered += decoder.decode(value, { stream: !done });
    // An event ends with an empty line.
    const parts = buffered.split(/\r?\n\r?\n/);
    buffered = done ? "" : (parts.pop() ?? "");
    for (const part of parts) {
      const data = part
        .split(/\r?\n/)
        .filter((line) => line.startsWith("data:"))
        .map((line) => line.slice("data:".length).trimStart());
      if (data.length > 0) yield data.join("\n");
    }
    if (done) return;
  }
}
