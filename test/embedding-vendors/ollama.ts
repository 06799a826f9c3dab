/** Ollama: https://docs.ollama.com/api/embed; refusals from server/routes.go of ollama/ollama. */
import type { UpstreamRequest } from "../../server/upstream/adapter.ts";
import type { Target } from "../../server/upstream/contract.ts";
import { bodyAt, expectModel, lengthIn, targetOf, textsIn } from "./bearer-case.ts";
import { refusalsOf, type Understood, type VendorCase } from "./vendor-case.ts";
import { expectOnly, writeFloats } from "./written.ts";

function understand(request: UpstreamRequest, target: Target, root: string): Understood {
  const body = bodyAt(request, `${root}/api/embed`);
  expectOnly(body, ["model", "input", "truncate", "dimensions", "options", "keep_alive"]);
  expectModel(body, target);
  if (body.truncate !== false) throw new Error("a long text would be cut");
  return { input: textsIn(body.input), encoding: "float", ...lengthIn(body.dimensions) };
}

const error = (message: string): string => JSON.stringify({ error: message });

const caseOf = (name: string, target: Target, root: string): VendorCase => ({
  name,
  target,
  understand: (request) => understand(request, target, root),
  response: (vectors, tokens) => ({
    body: `{"model":"all-minilm","embeddings":[${vectors.map(writeFloats).join(",")}],"total_duration":14143917,"load_duration":1019500${tokens === undefined ? "" : `,"prompt_eval_count":${tokens}`}}`,
  }),
  tellsUsage: true,
  refusals: refusalsOf([
    ["model_not_found", 404, error(`model '${target.model}' not found`)],
    ["model_not_found", 404, error(`model "${target.model}" not found, try pulling it first`)],
    ["upstream_error", 404, "404 page not found"],
    ["context_length_exceeded", 400, error("the input length exceeds the context length")],
    ["context_length_exceeded", 500, error("input length exceeds maximum context length")],
    ["upstream_credentials", 401, error("unauthorized")],
    [
      "upstream_overloaded",
      503,
      error("server busy, please try again.  maximum pending requests exceeded"),
    ],
    ["upstream_error", 500, error("llama-server process has terminated: signal: killed")],
  ]),
});

export const ollamaCases: readonly VendorCase[] = [
  caseOf("ollama", targetOf("ollama", "all-minilm"), "http://127.0.0.1:11434"),
  caseOf(
    "ollama, by the address of its OpenAI-compatible surface",
    targetOf("ollama", "all-minilm", { baseUrl: "http://gpu-box.example:11434/v1" }),
    "http://gpu-box.example:11434",
  ),
];
