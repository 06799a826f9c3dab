/** Time: calls that take too long are ended, and slow ones that may take long are not. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { fakeImage, type InjectedFault, type RecordedRequest } from "../fake-upstream.ts";
import { ask, eventsOf, expectRefused, rowOf, startBroken, until } from "./faults-fixture.ts";

setDefaultTimeout(30_000);

const hasty = startBroken({
  settings: { VEXEL_EMBEDDINGS_TIMEOUT: "1", VEXEL_IMAGES_TIMEOUT: "1" },
});
const patient = startBroken({ settings: { VEXEL_BODY_TIMEOUT: "2" } });
afterAll(async () => {
  await hasty.close();
  await patient.close();
});

const timeout = {
  status: 504,
  type: "server_error",
  code: "upstream_timeout",
  error: "upstream_timeout",
} as const;

/** They wait side by side, each for the mischief that carries its own words. */
const late: readonly [string, InjectedFault][] = [
  ["when the answer begins too late", { delayMs: 6_000 }],
  ["when it never begins", { hang: "headers" }],
  ["when it never ends", { hang: "body" }],
  ["when it comes byte by byte", { trickle: { bytes: 2, everyMs: 20 } }],
  ["when the description of an error never comes", { fail: "html", hang: "headers" }],
];
const speaking =
  (words: string) =>
  ({ json, form }: RecordedRequest): boolean =>
    JSON.stringify(json ?? form ?? "").includes(words);

const ended = late.map(([words, fault]) => {
  hasty.fake.script(fault, { times: 2, when: speaking(words) });
  const started = performance.now();
  return Promise.all([
    ask.embeddings(hasty, { input: words }),
    ask.picture(hasty, { prompt: words }),
  ]).then((responses) => ({ responses, took: performance.now() - started }));
});

describe("a call that takes longer than it may is ended, here and at the upstream", () => {
  test.each(late.map(([words], at) => [words, at] as const))("%s", async (words, at) => {
    const { responses, took } = await ended[at]!;
    expect(took).toBeWithin(1_000, 5_000);
    for (const response of responses) {
      const error = await expectRefused(hasty, response, timeout);
      expect(error.message).toBe("The upstream did not respond within 1 s.");
    }
    const asked = () => hasty.fake.requests.filter(speaking(words));
    await until(() => asked().length === 2 && asked().every(({ aborted }) => aborted));
  });
});

const silent = { delayMs: 5_000 };
patient.fake.script(silent, { times: 3, when: speaking("a slow otter") });
patient.fake.script({ eventDelayMs: 5_000 }, { when: speaking("an otter in steps") });
const form = new FormData();
form.append("model", "painter");
form.append("prompt", "a slow otter");
const source = fakeImage("source", 0, { format: "png", width: 16, height: 16 });
form.append("image", new Blob([new Uint8Array(source)]), "source.png");
const drawn = ask.picture(patient, { prompt: "a slow otter" });
const edited = ask.edit(patient, form);
const streamed = ask.picture(patient, { prompt: "a slow otter", stream: true });
const inSteps = ask.picture(patient, {
  prompt: "an otter in steps",
  stream: true,
  partial_images: 1,
});
const picture = Buffer.from(
  fakeImage("a slow otter", 0, { format: "png", width: 1024, height: 1024 }),
).toString("base64");

describe("after 5 seconds of silence, with a limit of 2 for silent bodies, there still comes", () => {
  test.each([
    ["a picture", drawn],
    ["an edited picture", edited],
  ])("%s", async (_, call) => {
    const response = await call;
    expect(await response.json()).toMatchObject({ data: [{ b64_json: picture }] });
    expect(rowOf(patient, response)).toMatchObject({ status: 200, images: 1 });
    expect(rowOf(patient, response).latencyMs).toBeGreaterThan(4_900);
  });

  test("the first event of a stream", async () => {
    const events = eventsOf(await (await streamed).text());
    expect(events.map(({ data }) => data.b64_json)).toEqual([picture]);
  });

  test("the next event of a stream", async () => {
    const response = await inSteps;
    const events = eventsOf(await response.text());
    expect(events.map(({ event }) => event)).toEqual([
      "image_generation.partial_image",
      "image_generation.completed",
    ]);
    expect(rowOf(patient, response)).toMatchObject({ status: 200, images: 1 });
  });
});
