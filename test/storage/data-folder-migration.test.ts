/**
 * A data folder of an earlier version is migrated at the start: its images are served under the present path, and its
 * idempotent responses are replayed. Links with the earlier path get 404.
 */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startFake } from "../fake-upstream.ts";
import { configFor, post, startGateway, temporaryFolder } from "../harness.ts";

const fake = startFake();
const folders: Disposable[] = [];
beforeEach(() => fake.clear());
afterAll(() => {
  fake.close();
  for (const folder of folders) folder[Symbol.dispose]();
});

function newFolder(): string {
  const folder = temporaryFolder();
  folders.push(folder);
  return folder.path;
}

const start = (folder: string) =>
  startGateway({ yaml: configFor(fake.url), settings: { VEXEL_DATA: folder } });

const generate = (url: string, key: string): Promise<Response> =>
  post(
    `${url}/v1/images/generations`,
    { model: "dall-e-3", prompt: "an otter", response_format: "url" },
    { "idempotency-key": key },
  );

/** How often the upstream generated. It also serves the image behind its own link. */
const generations = (): number => fake.requests.filter(({ method }) => method === "POST").length;

const linkIn = (body: string): string =>
  (JSON.parse(body) as { data: [{ url: string }] }).data[0].url;

/** Lays the folder out as the earlier version did, with the links that it wrote into stored responses. */
function toEarlierLayout(folder: string): void {
  renameSync(join(folder, "images"), join(folder, "pictures"));
  renameSync(join(folder, "responses"), join(folder, "answers"));
  const responses = join(folder, "answers");
  for (const name of readdirSync(responses).filter((each) => each.endsWith(".json"))) {
    const entry = JSON.parse(readFileSync(join(responses, name), "utf8")) as { body: string };
    const body = readFileSync(join(responses, entry.body), "utf8").replace(
      "/files/images/",
      "/pictures/",
    );
    writeFileSync(join(responses, entry.body), body);
    writeFileSync(join(responses, name), JSON.stringify({ ...entry, length: body.length }));
  }
}

describe("a data folder of the earlier layout", () => {
  test("serves its images under the present path and replays its idempotent responses", async () => {
    const folder = newFolder();
    const key = crypto.randomUUID();
    const first = start(folder);
    const made = await (await generate(first.url, key)).text();
    const image = await (await fetch(linkIn(made))).bytes();
    expect(generations()).toBe(1);
    await first.close();
    toEarlierLayout(folder);

    const second = start(folder);
    try {
      const link = linkIn(made).replace(first.url, second.url);
      const served = await fetch(link);
      expect(served.status).toBe(200);
      expect(await served.bytes()).toEqual(image);
      const earlierLink = await fetch(link.replace("/files/images/", "/pictures/"));
      expect(earlierLink.status).toBe(404);
      expect(await earlierLink.json()).toMatchObject({ error: { code: "unknown_url" } });

      const replayed = await generate(second.url, key);
      expect(replayed.headers.get("idempotent-replayed")).toBe("true");
      expect(await replayed.text()).toBe(made.replace("/files/images/", "/pictures/"));
      expect(generations()).toBe(1);

      expect(readdirSync(folder)).toContain("images");
      expect(readdirSync(folder)).toContain("responses");
      expect(readdirSync(folder)).not.toContain("pictures");
      expect(readdirSync(folder)).not.toContain("answers");
    } finally {
      await second.close();
    }
  });
});

test("a new data folder has only the present names", async () => {
  const folder = newFolder();
  const gateway = start(folder);
  await gateway.close();
  expect(readdirSync(folder)).toEqual(expect.arrayContaining(["images", "responses"]));
  expect(existsSync(join(folder, "pictures"))).toBeFalse();
  expect(existsSync(join(folder, "answers"))).toBeFalse();
});
