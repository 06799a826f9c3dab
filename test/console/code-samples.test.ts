/** Code samples of the console. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { codeSample, FileContent } from "../../console/src/lib/code-samples.ts";
import { temporaryFolder } from "../harness.ts";

const request = {
  baseUrl: "http://localhost:4000/v1",
  endpoint: "embeddings",
  body: { model: "m", input: 'it\'s "quoted"' },
} as const;

test("the curl sample survives quotes in a shell", async () => {
  const sample = codeSample("curl", request) ?? "";
  const shown = sample.replace(/^curl/, "printf '%s\\n'");
  const { stdout } = Bun.spawnSync(["sh", "-c", shown], { env: { VEXEL_KEY: "k" } });
  const words = stdout.toString().trimEnd().split("\n");
  expect(JSON.parse(words.at(-1) ?? "")).toEqual(request.body);
  expect(words).toContain("Authorization: Bearer k");
});

test("the TypeScript sample is valid TypeScript", () => {
  const transpiler = new Bun.Transpiler({ loader: "ts" });
  expect(transpiler.transformSync(codeSample("TypeScript", request) ?? "")).toContain(
    "embeddings.create",
  );
});

test("the TypeScript sample says how Node 20 runs it, and has no syntax that Node 20 lacks", () => {
  const sample = codeSample("TypeScript", request) ?? "";
  expect(sample).toContain("node sample.mjs");
  const transpiler = new Bun.Transpiler({ loader: "js" });
  expect(transpiler.transformSync(sample)).toContain("embeddings.create");
});

test("the Python samples use Python's constants and keyword arguments", () => {
  const body = { ...request.body, stream: true, user: null };
  expect(codeSample("Python", { ...request, body })).toBe(`import os
from openai import OpenAI

client = OpenAI(base_url="http://localhost:4000/v1", api_key=os.environ["VEXEL_KEY"])
response = client.embeddings.create(
    model="m",
    input="it's \\"quoted\\"",
    stream=True,
    user=None,
)
print(len(response.data[0].embedding))`);
  expect(codeSample("LangChain", request)).toContain('embed_query("it\'s \\"quoted\\""');
});

test("the samples for a new key have the key in place of the variable", () => {
  const sent = { ...request, apiKey: "sk-new" };
  for (const language of ["curl", "Python", "TypeScript", "LangChain"] as const) {
    expect(codeSample(language, sent)).toContain("sk-new");
    expect(codeSample(language, sent)).not.toMatch(/VEXEL_KEY|import os/);
  }
});

test("the samples of a request with partial images read the stream", () => {
  const body = { model: "m", prompt: "a boat", partial_images: 2, stream: true };
  const images = { ...request, endpoint: "images/generations", body } as const;
  expect(codeSample("Python", images)).toContain("partial_images=2,\n    stream=True");
  expect(codeSample("Python", images)).toContain("for event in response:");
  expect(codeSample("TypeScript", images)).toContain("for await (const event of response)");
  expect(codeSample("curl", images)).toStartWith("curl -N ");
});

test("the samples of a request with an object are valid in Python and in a form", () => {
  const body = { model: "m", prompt: "a boat", svg: { model: "x", grouped: true, parts: [null] } };
  const images = { ...request, endpoint: "images/generations", body } as const;
  expect(codeSample("Python", images)).toContain(
    'svg={"model": "x", "grouped": True, "parts": [None]}',
  );
  const edit = { ...images, endpoint: "images/edits", files: { images: ["a.png"] } } as const;
  expect(codeSample("curl", edit)).toContain(`'svg=${JSON.stringify(body.svg)}'`);
});

test("LangChain has no sample for images", () => {
  expect(codeSample("LangChain", { ...request, endpoint: "images/generations" })).toBeUndefined();
});

test("the samples of a request with an image read the reader's file", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "a boat's.png");
  const bytes = Buffer.from([0, 1, 2, 253, 254, 255]);
  await Bun.write(path, bytes);
  const text = '$HOME `id` \\ "quoted" it\'s';
  const body = { model: "m", input: [text, { image: new FileContent(path) }] };
  const images = { ...request, body };
  const script = `curl() { cat; }\n${codeSample("curl", images)}`;
  const { stdout } = Bun.spawnSync(["sh", "-c", script], {
    env: { ...process.env, VEXEL_KEY: "k" },
  });
  expect(JSON.parse(stdout.toString())).toEqual({
    model: "m",
    input: [text, { image: bytes.toString("base64") }],
  });
  const name = JSON.stringify(path);
  const python = codeSample("Python", images);
  expect(python).toStartWith("import base64\n");
  expect(python).toContain(
    `    input="",\n    extra_body={"input": [${JSON.stringify(text)}, {"image": base64.b64encode(open(${name}, "rb").read()).decode()}]},`,
  );
  const typescript = codeSample("TypeScript", images) ?? "";
  expect(typescript).toContain(`{"image": readFileSync(${name}, "base64")}`);
  expect(new Bun.Transpiler({ loader: "js" }).transformSync(typescript)).toContain("readFileSync");
  expect(codeSample("LangChain", images)).toBeUndefined();
});
