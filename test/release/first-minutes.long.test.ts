/**
 * The first ten minutes: what README.md and the first pages print runs as a new user runs it, in a new home folder,
 * with npm's registry, from the clone to a vendor. Prints how long each step takes.
 */
import { afterAll, expect } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { startFake } from "../fake-upstream.ts";
import { root, temporaryFolder } from "../harness.ts";
import { type Block, blocksOf } from "../laws/markdown.ts";
import { pathOf, testWith } from "../programs.ts";

const folder = temporaryFolder();
/** The key of the reader's account at the vendor. */
const vendorKey = "sk-0123456789";
const fake = startFake({ key: vendorKey });
afterAll(async () => {
  await fake.close();
  folder[Symbol.dispose]();
});

/** The first block of a page that has this text. */
function blockOf(page: string, info: string, text: string): Block {
  const found = blocksOf(page).find((block) => block.info === info && block.text.includes(text));
  if (!found) throw new Error(`${page} has no block with ${text}`);
  return found;
}

testWith("chromium", "curl")(
  "the first pages lead from a clone to a vector, an image, a batch, a key and a vendor",
  async () => {
    const checkout = join(folder.path, "vexel");
    // The port of the pages may be taken on this machine.
    const port = freePort();
    const home = join(folder.path, "home");
    mkdirSync(home);
    const env: Record<string, string> = {
      PATH: process.env.PATH ?? "",
      HOME: home,
      PORT: String(port),
    };
    const times: [step: string, seconds: number][] = [];
    const timed = async <T>(step: string, run: () => Promise<T>): Promise<T> => {
      const start = performance.now();
      const result = await run();
      times.push([step, (performance.now() - start) / 1000]);
      return result;
    };
    /** As printed, except for the port. */
    const asPrinted = (text: string) => text.replaceAll(":8080", `:${port}`);
    const shell = async (text: string, cwd = checkout): Promise<string> => {
      const script = `set -eu\n${asPrinted(text)}`;
      const child = Bun.spawn(["bash", "-c", script], { cwd, env, stdout: "pipe", stderr: "pipe" });
      const [output, errors] = await Promise.all([
        new Response(child.stdout).text(),
        new Response(child.stderr).text(),
      ]);
      if ((await child.exited) !== 0) throw new Error(`${text}\n${output}${errors}`);
      return output;
    };

    await timed("clone", () => shell(`git clone --quiet "${root}" vexel`, folder.path));
    const start = blockOf("docs/quickstart.md", "sh", "npm start").text;
    const first = await timed("npm start, until it listens", () =>
      startAsPrinted(start, checkout, env),
    );
    env.VEXEL_KEY = /sk-vx-[\w-]+/.exec(first.output())?.[0] ?? "";
    const embeddings = blockOf("docs/quickstart.md", "sh", "/v1/embeddings").text;
    const images = blockOf("docs/quickstart.md", "sh", "/v1/images/generations").text;
    const vectors = JSON.parse(await timed("first vectors", () => shell(embeddings)));
    expect(vectors.data).toHaveLength(3);
    const made = JSON.parse(await timed("first image", () => shell(images)));
    const link = await fetch(made.data[0].url);
    expect(link.headers.get("content-type")).toBe("image/png");

    const program = join(folder.path, "program");
    mkdirSync(program);
    writeFileSync(
      join(program, "batch.mjs"),
      asPrinted(blockOf("docs/jobs.md", "js", "batches.create").text),
    );
    const batch = await timed("a batch in Node, with npm install", () =>
      shell(blockOf("docs/jobs.md", "sh", "node batch.mjs").text, program),
    );
    expect(batch).toContain("text-2 has 384 numbers");

    const setup = /Console {3}(\S+)/.exec(first.output())?.[1] ?? "";
    env.VEXEL_KEY = await timed("a key in the console", () => createKey(setup));
    expect(JSON.parse(await shell(embeddings)).data).toHaveLength(3);
    await first.stop();

    // The vendor's address is the only thing that the page does not print.
    env.OPENAI_BASE_URL = fake.url;
    const withVendor = blockOf("README.md", "sh", "OPENAI_API_KEY=").text.replace(
      "sk-…",
      vendorKey,
    );
    const second = await timed("start with a vendor's key", () =>
      startAsPrinted(withVendor, checkout, env),
    );
    const ofVendor = embeddings.replace("all-minilm-l6-v2", "text-embedding-3-small");
    expect(JSON.parse(await timed("vectors of a vendor", () => shell(ofVendor))).data).toHaveLength(
      3,
    );
    await second.stop();

    const lines = times.map(([step, seconds]) => `${seconds.toFixed(1).padStart(7)} s  ${step}`);
    const total = times.reduce((sum, [, seconds]) => sum + seconds, 0);
    console.log([...lines, `${total.toFixed(1).padStart(7)} s  together`].join("\n"));
    expect(total).toBeLessThan(600);
  },
  900_000,
);

/** Starts the gateway with a command of a page, in a terminal of its own. */
async function startAsPrinted(text: string, cwd: string, env: Readonly<Record<string, string>>) {
  const child = Bun.spawn(["setsid", "bash", "-c", text], {
    cwd,
    env,
    stdout: "pipe",
    stderr: "pipe",
  });
  let output = "";
  const collect = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
    for await (const chunk of stream) output += new TextDecoder().decode(chunk);
  };
  const collected = Promise.all([collect(child.stdout), collect(child.stderr)]);
  let hasEnded = false;
  void child.exited.then(() => {
    hasEnded = true;
  });
  // As long as npm needs; the test ends it if it takes too long.
  while (!hasEnded && !/Try it:|Warning: no model/.test(output)) await Bun.sleep(50);
  if (hasEnded) throw new Error(`${text}\n${output}`);
  return {
    output: () => output,
    /** Ctrl-C reaches every process of the terminal. */
    stop: async () => {
      process.kill(-child.pid, "SIGINT");
      await child.exited;
      await collected;
    },
  };
}

/** Opens the link that the start prints, as a new administrator, and creates a key. */
async function createKey(link: string): Promise<string> {
  const browser = await chromium.launch({ executablePath: pathOf("chromium") });
  try {
    const page = await browser.newPage();
    await page.goto(link);
    await page.getByLabel("Password", { exact: true }).fill("a long password of the reader");
    await page.getByRole("button", { name: "Create and sign in" }).click();
    await page.waitForURL((url) => !url.pathname.endsWith("/setup"));
    await page.getByRole("link", { name: "API keys" }).first().click();
    await page.getByRole("button", { name: "Create key" }).click();
    const form = page.getByRole("dialog");
    await form.getByRole("textbox", { name: "Name" }).fill("first");
    await form.getByRole("button", { name: "Create", exact: true }).click();
    const shown = page.getByRole("dialog", { name: "Your new key" });
    return (await shown.getByRole("code").first().textContent()) ?? "";
  } finally {
    await browser.close();
  }
}

function freePort(): number {
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const { port } = listener;
  listener.stop(true);
  return port;
}
