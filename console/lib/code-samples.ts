/** Code that works when it is pasted, for a request in OpenAI's shape. The key is read from VEXEL_KEY. */

export interface SampleRequest {
  /** With /v1, such as `https://gateway.example/v1`. */
  readonly baseUrl: string;
  readonly endpoint: "embeddings" | "images/generations" | "images/edits";
  readonly body: Readonly<Record<string, unknown>>;
  /** Of an edit: the names of files that the reader has. */
  readonly files?: { readonly images: readonly string[]; readonly mask?: string };
}

export const sampleLanguages = ["curl", "Python", "TypeScript", "LangChain"] as const;
export type SampleLanguage = (typeof sampleLanguages)[number];

/** Undefined: LangChain has no images API. */
export function codeSample(language: SampleLanguage, request: SampleRequest): string | undefined {
  switch (language) {
    case "curl":
      return curl(request);
    case "Python":
      return python(request);
    case "TypeScript":
      return typescript(request);
    case "LangChain":
      return request.endpoint === "embeddings" ? langchain(request) : undefined;
  }
}

/** In single quotes for a shell: a quote ends the text, is escaped, and starts it again. */
const shellQuoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const curl = (request: SampleRequest): string =>
  [
    `curl ${request.body.stream === true ? "-N " : ""}${request.baseUrl}/${request.endpoint}`,
    '-H "Authorization: Bearer $VEXEL_KEY"',
    ...(request.files ? formParts(request) : jsonParts(request)),
  ].join(" \\\n  ");

const jsonParts = ({ body }: SampleRequest): string[] => [
  '-H "Content-Type: application/json"',
  `-d ${shellQuoted(JSON.stringify(body))}`,
];

/** An object, such as `svg`, is JSON in a form. */
const formText = (value: unknown): string =>
  typeof value === "object" ? JSON.stringify(value) : String(value);

/** `--form-string` sends a text that begins with @ or < as it is. */
const formParts = ({ body, files }: SampleRequest): string[] => [
  ...Object.entries(body).map(
    ([name, value]) => `--form-string ${shellQuoted(`${name}=${formText(value)}`)}`,
  ),
  ...(files?.images ?? []).map((name) => `-F ${shellQuoted(`image[]=@${name}`)}`),
  ...(files?.mask === undefined ? [] : [`-F ${shellQuoted(`mask=@${files.mask}`)}`]),
];

/** The literals of JSON are those of Python, except for its three constants. */
const pythonValue = (value: unknown): string => {
  if (value === true) return "True";
  if (value === false) return "False";
  if (value === null) return "None";
  if (Array.isArray(value)) return `[${value.map(pythonValue).join(", ")}]`;
  if (typeof value === "object") {
    const pairs = Object.entries(value).map(
      ([name, each]) => `${JSON.stringify(name)}: ${pythonValue(each)}`,
    );
    return `{${pairs.join(", ")}}`;
  }
  return JSON.stringify(value);
};

const members = (
  body: Readonly<Record<string, unknown>>,
  member: (name: string, value: unknown) => string,
): string =>
  Object.entries(body)
    .map(([name, value]) => `    ${member(name, value)},\n`)
    .join("");

const methods = {
  embeddings: "embeddings.create",
  "images/generations": "images.generate",
  "images/edits": "images.edit",
} as const;

const python = ({ baseUrl, endpoint, body, files }: SampleRequest): string => {
  const opened = (name: string): string => `open(${JSON.stringify(name)}, "rb")`;
  const printImage =
    body.stream === true
      ? "for event in response:\n    print(event.type, len(event.b64_json))"
      : "print(response.data[0].url or len(response.data[0].b64_json))";
  return [
    "import os",
    "from openai import OpenAI",
    "",
    `client = OpenAI(base_url="${baseUrl}", api_key=os.environ["VEXEL_KEY"])`,
    `response = client.${methods[endpoint]}(`,
    `${members(body, (name, value) => `${name}=${pythonValue(value)}`)}${fileMembers(files, (name, value) => `${name}=${value}`, opened)})`,
    endpoint === "embeddings" ? "print(len(response.data[0].embedding))" : printImage,
  ].join("\n");
};

const typescript = ({ baseUrl, endpoint, body, files }: SampleRequest): string => {
  const opened = (name: string): string => `createReadStream(${JSON.stringify(name)})`;
  const logImage =
    body.stream === true
      ? "for await (const event of response) console.log(event.type, event.b64_json.length);"
      : "console.log(response.data?.[0]?.url ?? response.data?.[0]?.b64_json?.length);";
  return [
    // As .ts it would need a compiler below Node 22.
    "// Save as sample.mjs, then: npm install openai && node sample.mjs",
    ...(files ? ['import { createReadStream } from "node:fs";'] : []),
    'import OpenAI from "openai";',
    "",
    `const client = new OpenAI({ baseURL: "${baseUrl}", apiKey: process.env.VEXEL_KEY });`,
    `const response = await client.${methods[endpoint]}({`,
    `${members(body, (name, value) => `${name}: ${JSON.stringify(value)}`)}${fileMembers(files, (name, value) => `${name}: ${value}`, opened)}});`,
    endpoint === "embeddings" ? "console.log(response.data[0].embedding.length);" : logImage,
  ].join("\n");
};

function fileMembers(
  files: SampleRequest["files"],
  member: (name: string, value: string) => string,
  opened: (name: string) => string,
): string {
  if (!files) return "";
  const image = `    ${member("image", `[${files.images.map(opened).join(", ")}]`)},\n`;
  return files.mask === undefined ? image : `${image}    ${member("mask", opened(files.mask))},\n`;
}

const langchain = ({ baseUrl, body: { model, input } }: SampleRequest): string =>
  [
    "import os",
    "from langchain_openai import OpenAIEmbeddings",
    "",
    "embeddings = OpenAIEmbeddings(",
    `    model=${JSON.stringify(model)},`,
    `    base_url="${baseUrl}",`,
    '    api_key=os.environ["VEXEL_KEY"],',
    // Texts are sent as they are. Otherwise LangChain downloads OpenAI's vocabulary and sends tokens.
    "    check_embedding_ctx_length=False,",
    ")",
    Array.isArray(input)
      ? `print(len(embeddings.embed_documents(${pythonValue(input)})))`
      : `print(len(embeddings.embed_query(${JSON.stringify(input)})))`,
  ].join("\n");
