/** A request of the reference as code: with OpenAI's packages where they have it, and else as a plain HTTP request. */
import {
  codeSample,
  pythonValue,
  type SampleLanguage,
  shellQuoted,
} from "../../lib/code-samples.ts";

export interface HttpRequest {
  readonly method: string;
  readonly baseUrl: string;
  readonly path: string;
  /** The environment variable with the credential. Undefined if none is needed. */
  readonly token: string | undefined;
  readonly body?: unknown;
  /** Of a form. The values of `files` are the names of files that the reader has. */
  readonly form?: {
    readonly fields: Readonly<Record<string, string>>;
    readonly files: readonly string[];
  };
  /** The response is JSON. */
  readonly isJson: boolean;
}

export const requestLanguages = [
  "curl",
  "Python",
  "TypeScript",
] as const satisfies readonly SampleLanguage[];
export type RequestLanguage = (typeof requestLanguages)[number];

/** The paths for which OpenAI's packages have methods. */
const sdkPaths: ReadonlyMap<string, "embeddings" | "images/generations"> = new Map([
  ["/v1/embeddings", "embeddings"],
  ["/v1/images/generations", "images/generations"],
]);

export function requestSample(language: RequestLanguage, request: HttpRequest): string {
  const { baseUrl, path, body } = request;
  const endpoint = sdkPaths.get(path);
  const ofSdk =
    endpoint && isObject(body)
      ? codeSample(language, { baseUrl: `${baseUrl}/v1`, endpoint, body })
      : undefined;
  return ofSdk ?? { curl, Python: python, TypeScript: typescript }[language](request);
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const urlOf = ({ baseUrl, path }: HttpRequest): string => `${baseUrl}${path}`;

const curl = (request: HttpRequest): string => {
  const { method, token, body, form } = request;
  // The method of a request with a body is POST, and else GET.
  const isUsual = method === (body === undefined && !form ? "GET" : "POST");
  return [
    `curl ${isUsual ? "" : `-X ${method} `}${shellQuoted(urlOf(request))}`,
    ...(token === undefined ? [] : [`-H "Authorization: Bearer $${token}"`]),
    ...(body === undefined
      ? []
      : ['-H "Content-Type: application/json"', `-d ${shellQuoted(JSON.stringify(body))}`]),
    ...Object.entries(form?.fields ?? {}).map(
      ([name, value]) => `--form-string ${shellQuoted(`${name}=${value}`)}`,
    ),
    ...(form?.files ?? []).map((name) => `-F ${shellQuoted(`${name}=@${name}`)}`),
  ].join(" \\\n  ");
};

const python = (request: HttpRequest): string => {
  const { method, token, body, form, isJson } = request;
  const files = (form?.files ?? []).map(
    (name) => `${JSON.stringify(name)}: open(${JSON.stringify(name)}, "rb")`,
  );
  return [
    ...(token === undefined ? [] : ["import os"]),
    "import requests",
    "",
    `response = requests.${method.toLowerCase()}(`,
    `    ${JSON.stringify(urlOf(request))},`,
    ...(token === undefined
      ? []
      : [`    headers={"Authorization": "Bearer " + os.environ["${token}"]},`]),
    ...(body === undefined ? [] : [`    json=${pythonValue(body)},`]),
    ...(form ? [`    data=${pythonValue(form.fields)},`, `    files={${files.join(", ")}},`] : []),
    ")",
    "response.raise_for_status()",
    `print(${isJson ? "response.json()" : "response.content"})`,
  ].join("\n");
};

const typescript = (request: HttpRequest): string => {
  const { method, token, body, form, isJson } = request;
  const headers = [
    ...(token === undefined ? [] : [`Authorization: \`Bearer \${process.env.${token}}\``]),
    ...(body === undefined ? [] : ['"Content-Type": "application/json"']),
  ];
  const options = [
    ...(method === "GET" ? [] : [`  method: "${method}",`]),
    ...(headers.length === 0 ? [] : [`  headers: { ${headers.join(", ")} },`]),
    ...(body === undefined ? [] : [`  body: JSON.stringify(${JSON.stringify(body)}),`]),
    ...(form ? ["  body: form,"] : []),
  ];
  const url = JSON.stringify(urlOf(request));
  const call = options.length === 0 ? `fetch(${url})` : `fetch(${url}, {\n${options.join("\n")}\n}`;
  return [
    ...(form ? ['import { openAsBlob } from "node:fs";', ""] : []),
    ...(form ? ["const form = new FormData();"] : []),
    ...Object.entries(form?.fields ?? {}).map(
      ([name, value]) => `form.set(${JSON.stringify(name)}, ${JSON.stringify(value)});`,
    ),
    ...(form?.files ?? []).map(
      (name) => `form.set(${JSON.stringify(name)}, await openAsBlob(${JSON.stringify(name)}));`,
    ),
    `const response = await ${options.length === 0 ? call : `${call})`};`,
    "if (!response.ok) throw new Error(await response.text());",
    `console.log(await response.${isJson ? "json" : "text"}());`,
  ].join("\n");
};
