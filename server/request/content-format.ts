/**
 * The format of stored content: one line of JSON for the request, one for each uploaded file, one for the head of the
 * response, then the body of the response as it was sent, and one line of JSON that says how it ended.
 */

import type { ContentFile, RequestContent } from "../../contract/admin.ts";

export type BodyEnd = RequestContent["response"]["end"];

interface Content {
  readonly request: Readonly<Record<string, unknown>>;
  readonly files: readonly ContentFile[];
  readonly status: number;
  readonly contentType: string;
  /** Undefined if too large to be stored. */
  readonly body: string | undefined;
  readonly end: BodyEnd;
}

type Line =
  | { readonly kind: "request"; readonly value: Content["request"] }
  | { readonly kind: "file"; readonly value: ContentFile }
  | {
      readonly kind: "response";
      readonly value: Pick<Content, "status" | "contentType">;
    };

export const contentLine = (line: Line): string => `${JSON.stringify(line)}\n`;

export const contentEnd = (end: BodyEnd): string => `\n${JSON.stringify(end)}`;

export function parseContent(bytes: Buffer): Content {
  const files: ContentFile[] = [];
  let request: Content["request"] = {};
  for (let start = 0; ; ) {
    const newline = bytes.indexOf(10, start);
    const line = JSON.parse(bytes.toString("utf8", start, newline)) as Line;
    start = newline + 1;
    if (line.kind === "request") request = line.value;
    else if (line.kind === "file") files.push(line.value);
    else {
      const last = bytes.lastIndexOf(10);
      const end = JSON.parse(bytes.toString("utf8", last + 1)) as BodyEnd;
      const body = end === "too_large" ? undefined : bytes.toString("utf8", start, last);
      return { request, files, ...line.value, body, end };
    }
  }
}
