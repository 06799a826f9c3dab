/** Images in embeddings requests of the official SDKs, whose types know texts and tokens only. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import {
  codeSample,
  FileContent,
  type SampleLanguage,
} from "../../console/src/lib/code-samples.ts";
import { closeAfterAll } from "../clean-up.ts";
import {
  dataUrl,
  imagePart,
  png,
  startCohere,
  startImageGateway,
  vectorOf,
} from "../embeddings/multimodal-fixture.ts";
import { temporaryFolder, testKey } from "../harness.ts";
import { testIf, testWith } from "../programs.ts";
import { pythonWithOpenai, withPython } from "../python.ts";
import { clientOf } from "./arrange.ts";

const cohere = startCohere();
const gateway = startImageGateway(cohere);
closeAfterAll(gateway, { close: () => cohere[Symbol.asyncDispose]() });

const image = png(1);
const input = [
  "a text",
  {
    content: [
      { type: "text", text: "a boat" },
      { type: "image_url", image_url: { url: dataUrl(image) } },
    ],
  },
];
const expected = [vectorOf(["text a text"]), vectorOf(["text a boat", imagePart(image)])];

test("the official Node SDK sends images, and reads their vectors in its default encoding", async () => {
  const { data } = await clientOf(gateway).embeddings.create({
    model: "images",
    input: input as unknown as string[],
  });
  expect(data.map(({ embedding }) => embedding)).toEqual(expected);
});

testIf(withPython)("the official Python SDK sends images through extra_body", async () => {
  const program = `
import json
from openai import OpenAI
client = OpenAI(base_url="${gateway.baseURL}", api_key="${testKey}")
response = client.embeddings.create(model="images", input="", extra_body={"input": json.loads(${JSON.stringify(JSON.stringify(input))})})
print([each.embedding for each in response.data])
`;
  const child = Bun.spawn([pythonWithOpenai ?? "python3", "-c", program], { stderr: "pipe" });
  expect(JSON.parse(await child.stdout.text())).toEqual(expected);
});

const sampled = {
  baseUrl: gateway.baseURL,
  endpoint: "embeddings",
  body: { model: "images", input: [{ image: new FileContent("boat.png") }, "a text"] },
} as const;

/** What the console's sample prints, in a folder that has the image. */
async function outputOf(run: (sample: string) => string[], language: SampleLanguage) {
  using folder = temporaryFolder();
  await Bun.write(join(folder.path, "boat.png"), image);
  const child = Bun.spawn(run(codeSample(language, sampled) ?? ""), {
    cwd: folder.path,
    env: { ...process.env, VEXEL_KEY: testKey },
    stderr: "pipe",
  });
  const output = await child.stdout.text();
  return output.trim();
}

testWith("curl")("the console's curl sample sends an image", async () => {
  const { data } = JSON.parse(await outputOf((sample) => ["sh", "-c", sample], "curl"));
  expect(data[0].embedding).toEqual(vectorOf([imagePart(image)]));
});

testIf(withPython)("the console's Python sample sends an image", async () => {
  const output = await outputOf(
    (sample) => [pythonWithOpenai ?? "python3", "-c", sample],
    "Python",
  );
  expect(output).toBe(String(expected[0]?.length));
});
