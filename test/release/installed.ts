/** An installed gateway as a child process, and the requests that every way to install it must serve. */
import { expect } from "bun:test";
import { temporaryFolder } from "../harness.ts";
import { until } from "../until.ts";

/** Returns the standard output. Throws if the command fails. */
export function runCommand(
  command: readonly string[],
  cwd: string,
  env?: Readonly<Record<string, string>>,
): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], {
    cwd,
    env: { ...process.env, ...env },
  });
  if (exitCode !== 0) throw new Error(`${command.join(" ")}: ${stdout}${stderr}`);
  return `${stdout}${stderr}`;
}

export interface Started extends AsyncDisposable {
  readonly url: string;
  readonly key: string;
}

/** Starts a gateway in a new folder, and stops it at the end. `key`: absent: the one that its start prints. */
export async function startGateway(
  command: readonly string[],
  { env = {}, key }: { env?: Readonly<Record<string, string>>; key?: string } = {},
): Promise<Started> {
  const folder = temporaryFolder();
  const child = Bun.spawn([...command], {
    cwd: folder.path,
    env: {
      PATH: process.env.PATH ?? "",
      HOME: process.env.HOME ?? "",
      VEXEL_DATA: folder.path,
      ...env,
      PORT: "0",
    },
    stdout: "pipe",
    stderr: "pipe",
  });
  let output = "";
  const collect = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
    for await (const chunk of stream) output += new TextDecoder().decode(chunk);
  };
  // The startup message is on stdout, and the log on stderr.
  void Promise.all([collect(child.stdout), collect(child.stderr)]);
  const address = /https?:\/\/127\.0\.0\.1:\d+/;
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    await child.exited;
    folder[Symbol.dispose]();
  };
  try {
    await until(() => address.test(output) && (key !== undefined || output.includes("sk-vx-")));
  } catch (error) {
    await stop();
    throw new Error(`The gateway did not start: ${output}`, { cause: error });
  }
  return {
    url: address.exec(output)?.[0] ?? "",
    key: key ?? /sk-vx-[\w-]+/.exec(output)?.[0] ?? "",
    [Symbol.asyncDispose]: stop,
  };
}

/** One embeddings request, one image request, and the console. */
export async function expectBuiltInModels({ url, key }: Started): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const post = async (path: string, body: object) => {
    const response = await fetch(url + path, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    expect({ path, status: response.status }).toEqual({ path, status: 200 });
    return (await response.json()) as { data: [{ embedding?: number[]; b64_json?: string }] };
  };
  const vectors = await post("/v1/embeddings", { model: "all-minilm-l6-v2", input: "a boat" });
  expect(vectors.data[0].embedding).toHaveLength(384);
  const body = { model: "vexel-sketch", prompt: "a boat", size: "256x256" };
  const images = await post("/v1/images/generations", body);
  // The signature of a PNG.
  expect(images.data[0].b64_json).toStartWith("iVBORw0KGgo");
  const page = await (await fetch(`${url}/console/`)).text();
  const script = /src="([^"]+)"/.exec(page)?.[1] ?? "";
  expect((await fetch(url + script)).headers.get("content-type")).toContain("javascript");
}
