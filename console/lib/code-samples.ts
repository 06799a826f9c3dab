/** Code that works when it is pasted, for a request in OpenAI's shape. The key is read from VEXEL_KEY. */

export interface SampleRequest {
  /** With /v1, such as `https://gateway.example/v1`. */
  readonly baseUrl: string;
  readonly endpoint: "embeddings" | "images/generations";
  readonly body: Readonly<Record<string, unknown>>;
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

const curl = ({ baseUrl, endpoint, body }: SampleRequest): string =>
  [
    `curl ${baseUrl}/${endpoint} \\`,
    `  -H "Authorization: Bearer $VEXEL_KEY" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d ${shellQuoted(JSON.stringify(body))}`,
  ].join("\n");

/** JSON is valid Python except for its three constants, which are not in strings here. */
const pythonValue = (value: unknown): string => {
  if (value === true) return "True";
  if (value === false) return "False";
  if (value === null) return "None";
  if (Array.isArray(value)) return `[${value.map(pythonValue).join(", ")}]`;
  return JSON.stringify(value);
};

const members = (
  body: Readonly<Record<string, unknown>>,
  member: (name: string, value: unknown) => string,
): string =>
  Object.entries(body)
    .map(([name, value]) => `    ${member(name, value)},\n`)
    .join("");

const python = ({ baseUrl, endpoint, body }: SampleRequest): string => {
  const isEmbeddings = endpoint === "embeddings";
  return [
    "import os",
    "from openai import OpenAI",
    "",
    `client = OpenAI(base_url="${baseUrl}", api_key=os.environ["VEXEL_KEY"])`,
    `response = client.${isEmbeddings ? "embeddings.create" : "images.generate"}(`,
    `${members(body, (name, value) => `${name}=${pythonValue(value)}`)})`,
    isEmbeddings
      ? "print(len(response.data[0].embedding))"
      : "print(response.data[0].url or len(response.data[0].b64_json))",
  ].join("\n");
};

const typescript = ({ baseUrl, endpoint, body }: SampleRequest): string => {
  const isEmbeddings = endpoint === "embeddings";
  return [
    'import OpenAI from "openai";',
    "",
    `const client = new OpenAI({ baseURL: "${baseUrl}", apiKey: process.env.VEXEL_KEY });`,
    `const response = await client.${isEmbeddings ? "embeddings.create" : "images.generate"}({`,
    `${members(body, (name, value) => `${name}: ${JSON.stringify(value)}`)}});`,
    isEmbeddings
      ? "console.log(response.data[0].embedding.length);"
      : "console.log(response.data?.[0]?.url ?? response.data?.[0]?.b64_json?.length);",
  ].join("\n");
};

const langchain = ({ baseUrl, body }: SampleRequest): string =>
  [
    "import os",
    "from langchain_openai import OpenAIEmbeddings",
    "",
    "embeddings = OpenAIEmbeddings(",
    `    model=${JSON.stringify(body.model)},`,
    `    base_url="${baseUrl}",`,
    '    api_key=os.environ["VEXEL_KEY"],',
    ")",
    `print(len(embeddings.embed_query(${JSON.stringify(firstText(body.input))})))`,
  ].join("\n");

const firstText = (input: unknown): unknown => (Array.isArray(input) ? input[0] : input);
