/** A picture of an edit as a kind of file that the target reads, and no larger than it takes: after our own work, too. */
import { GatewayError } from "../../lib/gateway-error.ts";
import type { FilePart } from "../../upstream/contract.ts";
import type { EditCapabilities } from "../../upstream/image-capabilities.ts";
import type { Conversion, MaskForm, Seen } from "../../workers/image/image-worker.ts";

/** The tools that sources are made ready with. */
export interface SourceTools {
  /** A file that has been checked: how large it is, and the like. */
  look(file: FilePart): Promise<Seen>;
  mask(mask: FilePart, to: MaskForm): Promise<FilePart>;
  convert(file: FilePart, to: Conversion): Promise<FilePart>;
  onAdapted(name: string): void;
}

const usual = ["image/png", "image/jpeg", "image/webp"];

/** `upright`: it must be stored as it is shown, because a mask goes along. */
export async function readable(
  file: FilePart,
  edits: EditCapabilities,
  tools: SourceTools,
  upright: boolean,
): Promise<FilePart> {
  const { maxBytes = Number.POSITIVE_INFINITY } = edits;
  if (!upright && (await isRead(file, edits, tools))) return file;
  tools.onAdapted("image");
  let least = unknown;
  for (const to of waysFor(file, await tools.look(file), edits)) {
    if (to.format !== "jpeg" && least !== unknown && least > hopeless * maxBytes) continue;
    const made = await tools.convert(file, to);
    if (made.size <= maxBytes) return made;
    least = Math.min(least, made.size);
  }
  const [why, instead] = upright
    ? ["turned upright, so that its mask fits", "one that is stored upright"]
    : [`as ${kindsOf(edits)}, which this model reads`, `a ${kindsOf(edits)} that is small enough`];
  const advice = `Send one with fewer pixels, or ${instead}`;
  throw outgrown(file.field, `${why}, the picture has ${least} bytes`, maxBytes, advice);
}

/** A mask in the target's sense, turned as the picture is. It goes as it came where that says the same. */
export async function readableMask(
  file: FilePart,
  edits: EditCapabilities,
  tools: SourceTools,
  orientation: number,
): Promise<FilePart> {
  const { mask: sense = "transparent", maxBytes = Number.POSITIVE_INFINITY } = edits;
  if (sense === "transparent" && orientation === 1 && file.size <= maxBytes) {
    const seen = await tools.look(file);
    if (seen.orientation === 1 && seen.alphaChannel) return file;
  }
  // Without its colours, which mean nothing, it is small.
  const made = await tools.mask(file, { sense, orientation });
  if (made.size <= maxBytes) return made;
  const what = `in the way this model wants it, the mask has ${made.size} bytes`;
  throw outgrown(file.field, what, maxBytes, "Send a picture and a mask with fewer pixels");
}

async function isRead(
  file: FilePart,
  { reads = usual, needsAlpha }: EditCapabilities,
  tools: SourceTools,
): Promise<boolean> {
  if (!reads.includes(file.type)) return false;
  return !needsAlpha || (await tools.look(file)).alphaChannel;
}

const unknown = Number.POSITIVE_INFINITY;
/** So many times too large, a picture does not become small enough by being packed better. */
const hopeless = 4;

/** From the one that loses nothing to the one that loses most. What is lost of a jpeg's best was lost before. */
function waysFor(
  { type }: FilePart,
  { opaque, pages }: Seen,
  { reads = usual, needsAlpha }: EditCapabilities,
): readonly Conversion[] {
  const has = (format: string): boolean => reads.includes(`image/${format}`);
  const alpha = needsAlpha && { alpha: true };
  const png: Conversion = { format: "png", ...alpha };
  const lossless: Conversion[] = has("png") ? [png, { ...png, packed: true }] : [];
  // A webp would move, where the picture does.
  if (has("webp") && pages === 1) lossless.push({ format: "webp", ...alpha });
  // A jpeg has no transparency: it is for those who read nothing else.
  const mayFlatten = (opaque && !needsAlpha) || lossless.length === 0;
  if (!has("jpeg") || !mayFlatten) return lossless;
  const jpegs = [undefined, 92, 85].map(
    (quality): Conversion => ({ format: "jpeg", ...(quality && { quality }) }),
  );
  return type === "image/jpeg" ? jpegs : [...lossless, ...jpegs];
}

function kindsOf({ reads = usual, needsAlpha }: EditCapabilities): string {
  const kinds = usual.filter((kind) => reads.includes(kind));
  const names = kinds.map((kind) => kind.replace("image/", "").toUpperCase()).join(" or ");
  return needsAlpha ? `${names} with an alpha channel` : names;
}

/** Nobody was asked yet, and another target may take more. */
const outgrown = (field: string, what: string, maxBytes: number, advice: string): GatewayError =>
  new GatewayError(
    "invalid_value",
    `Invalid '${field}': ${what}, and at most ${maxBytes} are taken. ${advice}.`,
    { param: field, unsent: true, as: { retry: "elsewhere", final: true } },
  );
