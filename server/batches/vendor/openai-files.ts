/** Files and result lines in OpenAI's form, which Voyage and Mistral have too. */
import { formRequest, jsonRequest } from "../../upstream/adapters/wire/build-request.ts";
import { asObject, memberOf } from "../../upstream/adapters/wire/members.ts";
import type { InputFile, JsonObject, VendorEndpoint, VendorResult } from "./vendor-api.ts";
import { VendorError } from "./vendor-endpoint.ts";

/** The URL of the API, from that of a request with this path. Undefined: it has another path. */
export function urlBefore(requestUrl: string, path: string): string | undefined {
  const [url = ""] = requestUrl.split("?", 1);
  return url.endsWith(`/${path}`) ? url.slice(0, -path.length - 1) : undefined;
}

export async function uploadFile(
  { url, headers, send }: VendorEndpoint,
  { size, open }: InputFile,
  name: string,
): Promise<string> {
  const file = {
    field: "file",
    filename: `${name}.jsonl`,
    type: "application/jsonl",
    size,
    stream: open,
    bytes: () => Promise.reject(new Error("The file is streamed.")),
  };
  const response = await send(
    formRequest(`${url}/files`, headers, [
      { name: "purpose", text: "batch" },
      { name: "file", file },
    ]),
  );
  return idIn(await response.json());
}

export const fileContentUrl = ({ url }: VendorEndpoint, fileId: string): string =>
  `${url}/files/${encodeURIComponent(fileId)}/content`;

export async function getJson({ url, headers, send }: VendorEndpoint, path: string) {
  return (await send({ url: `${url}${path}`, headers })).json();
}

export async function postJson({ url, headers, send }: VendorEndpoint, path: string, body = {}) {
  return (await send({ ...jsonRequest(`${url}${path}`, headers, body), method: "POST" })).json();
}

export async function deleteFile({ url, headers, send }: VendorEndpoint, fileId: string) {
  const path = `/files/${encodeURIComponent(fileId)}`;
  await (await send({ url: `${url}${path}`, headers, method: "DELETE" })).text();
}

/** The clocks of the vendor and of this process may differ. */
export const clockMs = 3_600_000;

/** Whether a batch was created before `since`. `createdAt`: Unix seconds, or a date. `since`: Unix milliseconds. */
export const isOlder = (createdAt: unknown, since: number): boolean =>
  (typeof createdAt === "number" ? createdAt * 1000 : Date.parse(String(createdAt))) <
  since - clockMs;

/** The id of a new object. */
export function idIn(body: unknown, member = "id"): string {
  const id = memberOf(body, member);
  if (typeof id === "string" && id !== "") return id;
  throw new VendorError("The vendor's response has no id.", undefined);
}

/** Requests that did not run have such an error instead of a response. */
const notRun: ReadonlySet<unknown> = new Set(["batch_expired", "batch_cancelled"]);

export function readResultLine(line: JsonObject): VendorResult | undefined {
  const { custom_id: id, response, error } = line;
  if (typeof id !== "string") return undefined;
  const status = memberOf(response, "status_code");
  if (asObject(response) && typeof status === "number")
    return { id, status, body: memberOf(response, "body") };
  return notRun.has(memberOf(error, "code")) ? undefined : { id, status: 500, body: { error } };
}

/** The only result. */
export const onlyResult = ([body]: readonly unknown[]): unknown => body;

/** Texts of a list of names, without those that are missing. */
export const present = (...ids: readonly unknown[]): readonly string[] =>
  ids.filter((id): id is string => typeof id === "string" && id !== "");

/** The message of the first error of a list. */
export function firstMessage(errors: unknown): string | undefined {
  const [first] = Array.isArray(errors) ? (errors as readonly unknown[]) : [];
  const message = memberOf(first, "message");
  return typeof message === "string" ? message.slice(0, 500) : undefined;
}
