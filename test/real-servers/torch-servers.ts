/** Infinity and Xinference with tiny models on the processor. PyPI has PyTorch with the libraries for GPUs only. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { folder, freePort, programOf, type RealServer, run, start } from "./servers.ts";

/** PyPI as it was on this day, so that the packages which these need are pinned as well. */
const pypiOf = "2026-11-19";
const packages = {
  infinity: ["infinity-emb[server,torch]==0.0.78"],
  xinference: [
    "xinference==4.1.0",
    "sentence-transformers==6.2.0",
    "diffusers==0.39.0",
    "accelerate==1.15.0",
  ],
} as const;

export async function installTorchServers(): Promise<void> {
  const done = join(folder, `torch-servers-${Bun.hash(JSON.stringify([packages, pypiOf]))}`);
  if (existsSync(done)) return;
  await run("python3", "-m", "venv", "--clear", "tools");
  await run(programOf("tools", "pip"), "install", "--quiet", "uv==0.13.8");
  const uv = programOf("tools", "uv");
  for (const [name, list] of Object.entries(packages)) {
    await run(uv, "venv", "--quiet", "--clear", "--python", "python3", name);
    const options = ["--quiet", "--exclude-newer", pypiOf, "--python", programOf(name, "python")];
    await run(uv, "pip", "install", ...options, ...list);
  }
  const makeModels = join(import.meta.dir, "make_models.py");
  await run(programOf("xinference", "python"), makeModels, join(folder, "models"));
  writeFileSync(done, "");
}

export const startInfinity = (port = freePort()): Promise<RealServer> =>
  start("infinity", `http://127.0.0.1:${port}`, [
    programOf("infinity", "infinity_emb"),
    ..."v2 --served-model-name tiny --host 127.0.0.1 --device cpu --engine torch".split(" "),
    ...["--no-bettertransformer", "--model-id", join(folder, "models/tiny")],
    ...["--port", String(port)],
  ]);

export async function startXinference(): Promise<RealServer> {
  const port = freePort();
  const baseUrl = `http://127.0.0.1:${port}/v1`;
  const server = await start("xinference", baseUrl, [
    programOf("xinference", "python"),
    join(import.meta.dir, "xinference_server.py"),
    ...["-H", "127.0.0.1", "-p", String(port)],
  ]);
  await launch(baseUrl, "embedding", "tiny", {
    dimensions: 64,
    max_tokens: 128,
    language: ["en"],
    model_specs: [
      {
        model_format: "pytorch",
        model_hub: "huggingface",
        model_id: "x/tiny",
        model_uri: `file://${folder}/models/tiny`,
        quantization: "none",
      },
    ],
  });
  await launch(baseUrl, "image", "tiny-sd", {
    model_family: "stable_diffusion",
    model_id: "x/tiny-sd",
    model_revision: "x",
    model_ability: ["text2image", "image2image", "inpainting"],
    model_uri: `file://${folder}/models/tiny-sd`,
    default_generate_config: { num_inference_steps: 2 },
  });
  return server;
}

async function launch(baseUrl: string, type: string, name: string, facts: object): Promise<void> {
  const post = async (path: string, body: object): Promise<void> => {
    const response = await fetch(`${baseUrl}/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(600_000),
    });
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
  };
  const model = JSON.stringify({ version: 2, model_name: name, ...facts });
  await post(`model_registrations/${type}`, { model, persist: false });
  await post("models", {
    model_uid: name,
    model_name: name,
    model_type: type,
    ...(type === "embedding" && { model_engine: "sentence_transformers" }),
    enable_virtual_env: false,
    n_gpu: null,
  });
}
