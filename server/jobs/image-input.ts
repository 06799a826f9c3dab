/** The input of an image job in the file store: its validated query, and the files of its form. */
import type { FilePart } from "../request/http-types.ts";
import type { FileStore } from "../storage/ports/file-store.ts";
import type { EditQuery, GenerationQuery, ImageSource } from "../upstream/contract.ts";
import { jobFolder } from "./segments.ts";

type ImageQuery = GenerationQuery | EditQuery;

/** A file of the query: its metadata and its name in the file store. */
interface StoredPart extends Pick<FilePart, "field" | "filename" | "type" | "size"> {
  readonly stored: string;
}

const inputName = (id: string): string => `${jobFolder(id)}/input.json`;

/** The size of the files of a query, and of its prompt: what counts against the quota of jobs. */
export const inputSize = (query: ImageQuery): number =>
  filesOf(query).reduce((sum, { size }) => sum + size, Buffer.byteLength(query.prompt));

const filesOf = (query: ImageQuery): readonly FilePart[] =>
  "images" in query
    ? [
        ...[...query.images, query.mask, query.markup].flatMap((source) =>
          source?.kind === "file" ? [source.file] : [],
        ),
        ...query.files,
      ]
    : [];

export async function writeInput(files: FileStore, id: string, query: ImageQuery): Promise<void> {
  const parts = new Map<FilePart, StoredPart>();
  for (const file of filesOf(query)) {
    const stored = `${jobFolder(id)}/file-${parts.size}`;
    await files.write(stored, file.stream(), "upload");
    const { field, filename, type, size } = file;
    parts.set(file, { field, filename, type, size, stored });
  }
  // A file is not JSON: its stored part takes its place.
  const text = JSON.stringify(query, (_, value) => parts.get(value as FilePart) ?? value);
  await files.write(inputName(id), [Buffer.from(text)], "upload");
}

/** The prompt and the files are not needed after the end of the job. */
export async function removeInput(files: FileStore, id: string): Promise<void> {
  for (const { name } of await files.list(jobFolder(id))) {
    if (name === inputName(id) || name.startsWith(`${jobFolder(id)}/file-`))
      await files.remove(name);
  }
}

/** Undefined: it does not exist. */
export async function readInput(files: FileStore, id: string): Promise<ImageQuery | undefined> {
  const found = await files.find(inputName(id));
  if (!found) return undefined;
  const query = JSON.parse(await new Response(found.read()).text()) as ImageQuery;
  if (!("images" in query)) return query;
  const open = (part: unknown): FilePart => openPart(files, part as StoredPart);
  const source = (each: ImageSource): ImageSource =>
    each.kind === "file" ? { kind: "file", file: open(each.file) } : each;
  return {
    ...query,
    images: query.images.map(source),
    ...(query.mask && { mask: source(query.mask) }),
    ...(query.markup && { markup: source(query.markup) }),
    files: query.files.map(open),
  };
}

function openPart(files: FileStore, { stored, ...part }: StoredPart): FilePart {
  async function* stream(): AsyncGenerator<Uint8Array> {
    const found = await files.find(stored);
    if (!found) throw new Error(`The file ${stored} of the job is missing.`);
    yield* found.read();
  }
  return { ...part, stream, bytes: () => new Response(stream()).bytes() };
}
