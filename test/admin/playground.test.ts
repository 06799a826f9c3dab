/** The playground of the admin API takes every form of an embeddings request that the public API takes. */
import { expect, test } from "bun:test";
import { closeAfterAll } from "../clean-up.ts";
import {
  dataUrl,
  type EmbeddingsBody,
  imageEntry,
  imagePart,
  png,
  startCohere,
  startImageGateway,
  vectorOf,
} from "../embeddings/multimodal-fixture.ts";
import { adminToken, asOperator } from "../events/webhooks-fixture.ts";
import { fakeVector, startFake } from "../fake-upstream.ts";
import { quantize } from "../laws/output-types.ts";

const cohere = startCohere();
const openai = startFake();
const gateway = startImageGateway(cohere, {
  settings: { VEXEL_ADMIN_TOKEN: adminToken },
  upstreams: `  - { id: fake, kind: openai, baseUrl: "${openai.url}", apiKey: sk-fake }`,
  models: `  - { id: floats, kind: embedding, targets: [{ upstream: fake, model: text-embedding-3-small }] }`,
});
closeAfterAll(gateway, openai, { close: () => cohere[Symbol.asyncDispose]() });

async function vectorsOf(body: object): Promise<number[][]> {
  const response = await asOperator(gateway.url, "/admin/api/playground/embeddings", "POST", body);
  const { data } = (await response.json()) as EmbeddingsBody;
  return data.map(({ embedding }) => embedding);
}

test("the playground embeds images beside texts", async () => {
  const image = png(7);
  const input = ["a boat", { image: dataUrl(image) }, imageEntry(dataUrl(image))];
  const ofImage = vectorOf([imagePart(image)]);
  expect(await vectorsOf({ model: "images", input })).toEqual([
    vectorOf(["text a boat"]),
    ofImage,
    ofImage,
  ]);
});

test("the playground returns vectors of the requested output_dtype", async () => {
  for (const type of ["binary", "ubinary"] as const)
    expect(await vectorsOf({ model: "floats", input: "a boat", output_dtype: type })).toEqual([
      [...quantize(fakeVector("a boat", 1536), type)],
    ]);
});
