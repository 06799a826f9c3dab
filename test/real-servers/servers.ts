/**
 * Installs Infinity and Xinference from PyPI at pinned versions, makes tiny models, and starts the servers. The folder
 * survives, so only the first run installs: `VEXEL_TEST_SERVERS`, or one in node_modules/.cache.
 */
import { existsSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../harness.ts";

export const folder =
  process.env.VEXEL_TEST_SERVERS ?? join(root, "node_modules/.cache/vexel-servers");

const packages = {
  infinity: ["infinity-emb[server,torch]==0.0.78"],
  xinference: ["xinference==4.1.0", "sentence-transformers", "diffusers", "accelerate"],
} as const;

/** No model hub is asked, and Xinference wants no key and installs nothing more. */
const environment = {
  ...process.env,
  HF_HUB_OFFLINE: "1",
  UV_CACHE_DIR: join(folder, "uv-cache"),
  XINFERENCE_HOME: join(folder, "xinference-home"),
  XINFERENCE_AUTH_ADVANCED: "0",
  XINFERENCE_ENABLE_VIRTUAL_ENV: "0",
};

async function run(...command: readonly string[]): Promise<void> {
  const child = Bun.spawn([...command], {
    env: environment,
    cwd: folder,
    stdout: "inherit",
    stderr: "inherit",
  });
  if ((await child.exited) !== 0) throw new Error(`failed: ${command.join(" ")}`);
}

const python = (environmentName: string): string => join(folder, environmentName, "bin/python");

export async function install(): Promise<void> {
  const done = join(folder, "installed");
  if (existsSync(done)) return;
  mkdirSync(folder, { recursive: true });
  await run("python3", "-m", "venv", "tools");
  await run(python("tools"), "-m", "pip", "install", "--quiet", "uv==0.13.8");
  const uv = join(folder, "tools/bin/uv");
  for (const [name, list] of Object.entries(packages)) {
    await run(uv, "venv", "--quiet", "--clear", "--python", "python3", name);
    await run(uv, "pip", "install", "--quiet", "--python", python(name), ...list);
  }
  await run(python("xinference"), join(import.meta.dir, "make_models.py"), join(folder, "models"));
  writeFileSync(done, "");
}

export interface RealServer {
  readonly baseUrl: string;
  readonly process: Bun.Subprocess;
}

const freePort = (): number => {
  using listener = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: { data: () => undefined },
  });
  return listener.port;
};

/** A server with torch takes a minute to start on a busy machine. */
async function untilListening(url: string, child: Bun.Subprocess): Promise<void> {
  for (let seconds = 0; seconds < 600; seconds++) {
    const response = await fetch(url).catch(() => undefined);
    if (response?.ok) return;
    if (child.exitCode !== null) throw new Error(`the server ended, see the logs in ${folder}`);
    await Bun.sleep(1000);
  }
  throw new Error(`${url} did not respond`);
}

function start(name: string, command: readonly string[]): Bun.Subprocess {
  const log = openSync(join(folder, `${name}.log`), "a");
  return Bun.spawn([...command], { env: environment, cwd: folder, stdout: log, stderr: log });
}

export async function startInfinity(port = freePort()): Promise<RealServer> {
  const process = start("infinity", [
    join(folder, "infinity/bin/infinity_emb"),
    ..."v2 --served-model-name tiny --host 127.0.0.1 --device cpu --engine torch".split(" "),
    ...["--no-bettertransformer", "--model-id", join(folder, "models/tiny")],
    ...["--port", String(port)],
  ]);
  const baseUrl = `http://127.0.0.1:${port}`;
  await untilListening(`${baseUrl}/models`, process);
  return { baseUrl, process };
}

export async function startXinference(): Promise<RealServer> {
  const port = freePort();
  const process = start("xinference", [
    join(folder, "xinference/bin/xinference-local"),
    ...["-H", "127.0.0.1", "-p", String(port)],
  ]);
  const baseUrl = `http://127.0.0.1:${port}/v1`;
  await untilListening(`${baseUrl}/models`, process);
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
  return { baseUrl, process };
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
