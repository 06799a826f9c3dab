/** Base64 without the `data:image/png;base64,` that some upstreams put before it and OpenAI's clients do not expect. */
export const bareBase64 = (text: string): string =>
  text.startsWith("data:") ? text.slice(text.indexOf(",") + 1) : text;
