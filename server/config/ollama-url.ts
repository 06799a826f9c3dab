/** Ollama's URL from its own OLLAMA_HOST, which often has no scheme and often is the server's listen address. */
export function ollamaUrl(host: string): string | undefined {
  const [, scheme = "http", rest = ""] = /^(?:(https?):\/\/)?(.*)$/s.exec(host) ?? [];
  // No host means this machine, and so do the wildcard addresses.
  const written = `${scheme}://${rest.startsWith(":") ? "127.0.0.1" : ""}${rest}`;
  if (rest === "" || !URL.canParse(written)) return undefined;
  const url = new URL(written);
  if (url.hostname === "0.0.0.0" || url.hostname === "[::]") url.hostname = "127.0.0.1";
  // Without a scheme Ollama's default port is 11434; with http:// or https:// it is that scheme's port.
  const named = /:\d+(?:\/|$)/.test(rest);
  if (!host.includes("://") && !named) url.port = "11434";
  // Other programs use the address of its OpenAI-compatible API, which ends in /v1.
  return url.href.replace(/\/+$/, "").replace(/\/v1$/, "");
}
