/** Images in embeddings requests of the official SDKs, whose types know texts and tokens only. */
import { expect, test } from "bun:test";
import { closeAfterAll } from "../clean-up.ts";
import {
  dataUrl,
  imagePart,
  png,
  startCohere,
  startImageGateway,
  vectorOf,
} from "../embeddings/multimodal-fixture.ts";
import { testKey } from "../harness.ts";
import { testIf } from "../programs.ts";
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
