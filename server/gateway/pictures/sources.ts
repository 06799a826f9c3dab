/** The pictures of an edit, as the target wants them: links fetched, masks turned into its own kind, files it can read. */
import type { EditQuery, FilePart, GenerationQuery, ImageSource } from "../../upstream/contract.ts";
import type { EditTraits } from "../../upstream/image-traits.ts";

/** What preparing needs of the rest of the house, for one call. */
export interface SourceDesk {
  /** A caller's link, as a file that has been looked at. `param`: whose link it is. */
  bring(url: string, param: string): Promise<FilePart>;
  mask(mask: FilePart, to: "white" | "black"): Promise<FilePart>;
  /** As a kind of file that the target reads. */
  convert(file: FilePart, format: "png" | "jpeg" | "webp"): Promise<FilePart>;
  onAdapted(name: string): void;
}

const usual = ["image/png", "image/jpeg", "image/webp"];

export async function prepare<Q extends GenerationQuery | EditQuery>(
  query: Q,
  edits: EditTraits | undefined,
  desk: SourceDesk,
): Promise<Q> {
  if (!("images" in query) || !edits) return query;
  const images: ImageSource[] = [];
  for (const [at, source] of query.images.entries()) {
    const file = await fileOf(source, `images[${at}].image_url`, edits, desk);
    images.push(file ? { kind: "file", file: await readable(file, edits, desk) } : source);
  }
  const mask = query.mask && (await maskFor(query.mask, edits, desk));
  return { ...query, images, ...(mask && { mask }) };
}

async function fileOf(
  source: ImageSource,
  param: string,
  { links }: EditTraits,
  desk: SourceDesk,
): Promise<FilePart | undefined> {
  if (source.kind === "file") return source.file;
  return source.kind === "url" && !links ? desk.bring(source.url, param) : undefined;
}

async function readable(file: FilePart, edits: EditTraits, desk: SourceDesk): Promise<FilePart> {
  const { reads = usual } = edits;
  if (reads.includes(file.type)) return file;
  const type = usual.find((kind) => reads.includes(kind)) ?? "image/png";
  desk.onAdapted("image");
  return desk.convert(file, type.replace("image/", "") as "png" | "jpeg" | "webp");
}

async function maskFor(
  source: ImageSource,
  edits: EditTraits,
  desk: SourceDesk,
): Promise<ImageSource> {
  const { mask: wanted } = edits;
  const file = await fileOf(source, "mask.image_url", edits, desk);
  if (!file) return source;
  if (wanted === "transparent" || wanted === undefined) return { kind: "file", file };
  return { kind: "file", file: await desk.mask(file, wanted) };
}
