/** Ollama's URL from its own OLLAMA_HOST, which often has no scheme and often is the server's listen address. */
export function ollamaUrl(host: string): string | undefined {
  const [, scheme = "http", rest = ""] = /^(?:(https?):\/\/)?(.*)$/s.exec(host) ?? [];
  // Without a host it is this machine, and so are the addresses that mean "all of them".
  const written = `${scheme}://${rest.startsWith(":") ? "127.0.0.1" : ""}${rest}`;
  if (rest === "" || !URL.canParse(written)) return undefined;
  const url = new URL(written);
  if (url.hostname === "0.0.0.0" || url.hostname === "[::]") url.hostname = "127.0.0.1";
  // Ollama reads a host that names no scheme as port 11434, and http:// and https:// as their own.
  const named = /:\d+(?:\/|$)/.test(rest);
  if (!host.includes("://") && !named) url.port = "11434";
  // Other programs are given the address of its OpenAI-compatible surface.
  return url.href.replace(/\/+$/, "").replace(/\/v1$/, "");
}
