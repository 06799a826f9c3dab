/** The shipped proxies that run Vexel beside another gateway send each path to the right one. */
import { afterAll, expect } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root, temporaryFolder } from "../harness.ts";
import { pathOf, testWith } from "../programs.ts";
import { freePort } from "../storage/postgres-server.ts";
import { until } from "../until.ts";

const answering = (name: string) =>
  Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) =>
      Response.json({ name, authorization: request.headers.get("authorization") }),
  });
const [vexel, other] = [answering("vexel"), answering("other")];
const folder = temporaryFolder();
const children: Bun.Subprocess[] = [];
afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  await Promise.all(children.map(({ exited }) => exited));
  await Promise.all([vexel.stop(true), other.stop(true)]);
  folder[Symbol.dispose]();
});

const shipped = (name: string): string =>
  readFileSync(join(root, "deploy/beside", name), "utf8")
    .replace("127.0.0.1:8080", `127.0.0.1:${vexel.port}`)
    .replace("127.0.0.1:4000", `127.0.0.1:${other.port}`);

function start(command: readonly string[]): void {
  const options = { stdin: "ignore", stdout: "ignore", stderr: "ignore" } as const;
  const env = { ...process.env, HOME: folder.path, XDG_DATA_HOME: folder.path };
  children.push(Bun.spawn([...command], { ...options, env }));
}

async function expectRoutes(port: number): Promise<void> {
  const served = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: "POST",
      headers: { authorization: "Bearer sk-of-a-client" },
      body: "{}",
    });
    return (await response.json()) as { name: string; authorization: string };
  };
  await until(() =>
    served("/").then(
      () => true,
      () => false,
    ),
  );
  for (const path of [
    "/v1/embeddings",
    "/v1/images/generations",
    "/v1/images/edits",
    "/v1/engines/search/embeddings",
    "/embeddings",
    "/images/generations",
    "/images/edits",
    "/engines/BAAI/bge-m3/embeddings",
    "/openai/deployments/search/embeddings?api-version=2024-10-21",
    "/openai/deployments/art/images/edits",
    "/files/images/a.png",
  ])
    expect(await served(path)).toEqual({ name: "vexel", authorization: "Bearer sk-of-a-client" });
  for (const path of [
    "/v1/chat/completions",
    "/v1/models",
    "/v1/embeddings2",
    "/key/info",
    "/v1/files",
    "/openai/deployments/gpt/chat/completions",
  ])
    expect((await served(path)).name).toBe("other");
}

testWith("nginx")("nginx sends embeddings and images to Vexel, the rest elsewhere", async () => {
  const port = await freePort();
  const prefix = join(folder.path, "nginx");
  mkdirSync(prefix);
  const temp = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${prefix}/${name};`)
    .join(" ");
  const server = shipped("nginx.conf").replace("listen 80;", `listen 127.0.0.1:${port};`);
  const file = join(prefix, "nginx.conf");
  writeFileSync(
    file,
    `daemon off; pid ${prefix}/pid; error_log ${prefix}/error.log;\nevents {}\nhttp { access_log off; ${temp}\n${server}\n}`,
  );
  start([pathOf("nginx"), "-p", prefix, "-c", file]);
  await expectRoutes(port);
});

testWith("caddy")("Caddy sends embeddings and images to Vexel, the rest elsewhere", async () => {
  const port = await freePort();
  const file = join(folder.path, "Caddyfile");
  writeFileSync(file, `{\n\tadmin off\n}\n${shipped("Caddyfile").replace(":80 {", `:${port} {`)}`);
  start([pathOf("caddy"), "run", "--config", file, "--adapter", "caddyfile"]);
  await expectRoutes(port);
});
