/**
 * Code that works when it is pasted, for a request in OpenAI's shape. The key is read from VEXEL_KEY, unless the
 * request names it.
 */

export interface SampleRequest {
  /** With /v1, such as `https://gateway.example/v1`. */
  readonly baseUrl: string;
  readonly endpoint: "embeddings" | "images/generations" | "images/edits";
  readonly body: Readonly<Record<string, unknown>>;
  /** A new key, which is shown once. The default is the variable VEXEL_KEY. */
  readonly apiKey?: string;
  /** Of an edit: the names of files that the reader has. */
  readonly files?: { readonly images: readonly string[]; readonly mask?: string };
}

/** In a body: the bytes of a file that the reader has, as base64. */
export class FileContent {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

export const sampleLanguages = ["curl", "Python", "TypeScript", "LangChain"] as const;
export type SampleLanguage = (typeof sampleLanguages)[number];

/** Undefined if LangChain has no images API, and embeds texts only. */
export function codeSample(language: SampleLanguage, request: SampleRequest): string | undefined {
  switch (language) {
    case "curl":
      return curl(request);
    case "Python":
      return python(request);
    case "TypeScript":
      return typescript(request);
    case "LangChain":
      return request.endpoint === "embeddings" && !hasFiles(request)
        ? langchain(request)
        : undefined;
  }
}

const isFileEntry = (entry: unknown): boolean =>
  typeof entry === "object" &&
  entry !== null &&
  Object.values(entry).some((value) => value instanceof FileContent);

/** Whether `input` has images. */
const hasFiles = ({ body: { input } }: SampleRequest): boolean =>
  Array.isArray(input) && input.some(isFileEntry);

/** In single quotes for a shell: a quote ends the text, is escaped, and starts it again. */
export const shellQuoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const curl = (request: SampleRequest): string =>
  [
    `curl ${request.body.stream === true ? "-N " : ""}${request.baseUrl}/${request.endpoint}`,
    `-H "Authorization: Bearer ${request.apiKey ?? "$VEXEL_KEY"}"`,
    ...(request.files ? formParts(request) : jsonParts(request)),
  ].join(" \\\n  ");

const jsonParts = (request: SampleRequest): string[] => [
  '-H "Content-Type: application/json"',
  hasFiles(request)
    ? // From standard input: an argument may have 128 KB.
      `-d @- <<JSON\n${literal(request.body, hereDocument)}\nJSON`
    : `-d ${shellQuoted(JSON.stringify(request.body))}`,
];

/** How a language writes the values of JSON. */
interface Syntax {
  readonly scalar: (value: unknown) => string;
  readonly file: (name: string) => string;
}

/** A shell replaces `$`, backticks and backslashes in a here document. */
const hereDocument: Syntax = {
  scalar: (value) => JSON.stringify(value).replaceAll(/[\\$`]/g, "\\$&"),
  file: (name) => `"$(base64 < ${shellQuoted(name)} | tr -d '\\n')"`,
};

const pythonSyntax: Syntax = {
  scalar: (value) => pythonConstants.get(value) ?? JSON.stringify(value),
  file: (name) => `base64.b64encode(open(${JSON.stringify(name)}, "rb").read()).decode()`,
};

const typescriptSyntax: Syntax = {
  scalar: (value) => JSON.stringify(value),
  file: (name) => `readFileSync(${JSON.stringify(name)}, "base64")`,
};

function literal(value: unknown, syntax: Syntax): string {
  if (value instanceof FileContent) return syntax.file(value.name);
  if (Array.isArray(value)) return `[${value.map((each) => literal(each, syntax)).join(", ")}]`;
  if (typeof value !== "object" || value === null) return syntax.scalar(value);
  const pairs = Object.entries(value).map(
    ([name, each]) => `${syntax.scalar(name)}: ${literal(each, syntax)}`,
  );
  return `{${pairs.join(", ")}}`;
}

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
const pythonConstants: ReadonlyMap<unknown, string> = new Map<unknown, string>([
  [true, "True"],
  [false, "False"],
  [null, "None"],
]);
export const pythonValue = (value: unknown): string => literal(value, pythonSyntax);

/** OpenAI's types know texts and tokens only, so images replace `input` on the way out. */
const pythonBody = (request: SampleRequest): SampleRequest["body"] => {
  const { input, ...rest } = request.body;
  return hasFiles(request) ? { ...rest, input: "", extra_body: { input } } : request.body;
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

const pythonKey = (apiKey: string | undefined): string =>
  apiKey === undefined ? 'os.environ["VEXEL_KEY"]' : JSON.stringify(apiKey);

const python = (request: SampleRequest): string => {
  const { baseUrl, endpoint, files, apiKey } = request;
  const body = pythonBody(request);
  const opened = (name: string): string => `open(${JSON.stringify(name)}, "rb")`;
  const printImage =
    body.stream === true
      ? "for event in response:\n    print(event.type, len(event.b64_json))"
      : "print(response.data[0].url or len(response.data[0].b64_json))";
  return [
    ...(hasFiles(request) ? ["import base64"] : []),
    ...(apiKey === undefined ? ["import os"] : []),
    "from openai import OpenAI",
    "",
    `client = OpenAI(base_url="${baseUrl}", api_key=${pythonKey(apiKey)})`,
    `response = client.${methods[endpoint]}(`,
    `${members(body, (name, value) => `${name}=${pythonValue(value)}`)}${fileMembers(files, (name, value) => `${name}=${value}`, opened)})`,
    endpoint === "embeddings" ? "print(len(response.data[0].embedding))" : printImage,
  ].join("\n");
};

const typescript = (request: SampleRequest): string => {
  const { baseUrl, endpoint, body, files, apiKey } = request;
  const key = apiKey === undefined ? "process.env.VEXEL_KEY" : JSON.stringify(apiKey);
  const opened = (name: string): string => `createReadStream(${JSON.stringify(name)})`;
  const logImage =
    body.stream === true
      ? "for await (const event of response) console.log(event.type, event.b64_json.length);"
      : "console.log(response.data?.[0]?.url ?? response.data?.[0]?.b64_json?.length);";
  return [
    // As .ts it would need a compiler below Node 22.
    "// Save as sample.mjs, then: npm install openai && node sample.mjs",
    ...(files ? ['import { createReadStream } from "node:fs";'] : []),
    ...(hasFiles(request) ? ['import { readFileSync } from "node:fs";'] : []),
    'import OpenAI from "openai";',
    "",
    `const client = new OpenAI({ baseURL: "${baseUrl}", apiKey: ${key} });`,
    `const response = await client.${methods[endpoint]}({`,
    `${members(body, (name, value) => `${name}: ${literal(value, typescriptSyntax)}`)}${fileMembers(files, (name, value) => `${name}: ${value}`, opened)}});`,
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

const langchain = ({ baseUrl, apiKey, body: { model, input } }: SampleRequest): string =>
  [
    ...(apiKey === undefined ? ["import os"] : []),
    "from langchain_openai import OpenAIEmbeddings",
    "",
    "embeddings = OpenAIEmbeddings(",
    `    model=${JSON.stringify(model)},`,
    `    base_url="${baseUrl}",`,
    `    api_key=${pythonKey(apiKey)},`,
    // Texts are sent as they are. Otherwise LangChain downloads OpenAI's vocabulary and sends tokens.
    "    check_embedding_ctx_length=False,",
    ")",
    Array.isArray(input)
      ? `print(len(embeddings.embed_documents(${pythonValue(input)})))`
      : `print(len(embeddings.embed_query(${JSON.stringify(input)})))`,
  ].join("\n");
