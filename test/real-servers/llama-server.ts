/**
 * llama.cpp's server with a tiny model. The package xllamacpp has the server of its build (`b` and the last digits of
 * its version) as a library, already compiled: https://github.com/xorbitsai/xllamacpp.
 */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { folder, freePort, programOf, type RealServer, run, start } from "./servers.ts";
import { tinyGguf } from "./tiny-gguf.ts";

const version = "2026.10.11549";
const model = join(folder, "tiny.gguf");

export async function installLlamaServer(): Promise<void> {
  const done = join(folder, `llamacpp-${version}`);
  if (!existsSync(done)) {
    await run("python3", "-m", "venv", "--clear", "llamacpp");
    await run(programOf("llamacpp", "pip"), "install", "--quiet", `xllamacpp==${version}`);
    writeFileSync(done, "");
  }
  writeFileSync(model, tinyGguf());
}

export const startLlamaServer = (port = freePort()): Promise<RealServer> =>
  start("llamacpp", `http://127.0.0.1:${port}/v1`, [
    programOf("llamacpp", "python"),
    join(import.meta.dir, "llama_server.py"),
    ...[model, String(port)],
  ]);
