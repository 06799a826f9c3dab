/** The pictures of an edit, as the target wants them: links fetched, masks turned into its own kind, files it can read. */
import type { EditQuery, FilePart, GenerationQuery, ImageSource } from "../../upstream/contract.ts";
import type { EditTraits } from "../../upstream/image-traits.ts";
import type { Seen } from "../../upstream/local/darkroom/darkroom.ts";
import { checkMask } from "../preflight.ts";
import { nearestSize, textOf } from "./sizes.ts";

/** What preparing needs of the rest of the house, for one call. */
export interface SourceDesk {
  /** A caller's link, as a file that has been looked at. `param`: whose link it is. */
  bring(url: string, param: string): Promise<FilePart>;
  /** A file that has been checked: how large it is, and the like. */
  look(file: FilePart): Promise<Seen>;
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
  let first: FilePart | undefined;
  for (const [at, source] of query.images.entries()) {
    const file = await fileOf(source, `images[${at}].image_url`, edits, desk);
    if (at === 0) first = file;
    images.push(file ? { kind: "file", file: await readable(file, edits, desk) } : source);
  }
  const size = await sizeLike(first, query, edits, desk);
  const mask = query.mask && (await maskFor(query.mask, query.images[0], first, edits, desk));
  return {
    ...query,
    images,
    ...(mask && { mask }),
    ...(size && { options: { ...query.options, size } }),
  };
}

/** What OpenAI's `auto` does in effect: the picture that comes out is as large as the one that went in. */
async function sizeLike(
  first: FilePart | undefined,
  { options: { size = "auto" }, rest, mask }: EditQuery,
  { likeFirst }: EditTraits,
  desk: SourceDesk,
): Promise<string | undefined> {
  if (!likeFirst || !first || mask || size !== "auto") return undefined;
  // Said in the vendor's own words.
  if ("width" in rest || "height" in rest) return undefined;
  return textOf(nearestSize(await desk.look(first), likeFirst));
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
  image: ImageSource | undefined,
  first: FilePart | undefined,
  edits: EditTraits,
  desk: SourceDesk,
): Promise<ImageSource> {
  const { mask: wanted } = edits;
  const file = await fileOf(source, "mask.image_url", edits, desk);
  if (!file) return source;
  // Two files were compared when they came; of what a link leads to, the size is known only now.
  if (first && (source.kind === "url" || image?.kind === "url")) {
    checkMask(await desk.look(file), await desk.look(first), file.field);
  }
  if (wanted === "transparent" || wanted === undefined) return { kind: "file", file };
  return { kind: "file", file: await desk.mask(file, wanted) };
}
