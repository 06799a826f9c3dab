/** Parses a multipart form: text fields and files by name. */
import { formOf, type VendorRequest } from "../image-vendor.ts";

export interface ReadForm {
  readonly texts: Readonly<Record<string, string>>;
  /** All of one name, in order. */
  files(name: string): readonly Uint8Array[];
  /** Names of texts and of files. */
  readonly names: readonly string[];
}

export async function readForm(request: VendorRequest): Promise<ReadForm> {
  const texts: Record<string, string> = {};
  const blobs: [string, Blob][] = [];
  (await formOf(request)).forEach((value, name) => {
    if (typeof value === "string") texts[name] = value;
    else blobs.push([name, value]);
  });
  const files = await Promise.all(
    blobs.map(async ([name, blob]): Promise<[string, Uint8Array]> => [name, await blob.bytes()]),
  );
  return {
    texts,
    files: (field) => files.flatMap(([name, bytes]) => (name === field ? [bytes] : [])),
    names: [...Object.keys(texts), ...files.map(([name]) => name)],
  };
}
