/** What the families of painters on Amazon Bedrock have in common. */
import type { GatewayError } from "../../../lib/gateway-error.ts";
import type { Asked } from "../../adapter.ts";
import type {
  EditQuery,
  FilePart,
  GenerationQuery,
  ImageResult,
  Rest,
  WholeReply,
} from "../../contract.ts";
import type { ImageTraits } from "../../image-capabilities.ts";
import { fileOf, filesOf } from "../wire/edit-sources.ts";
import { listOf, memberOf } from "../wire/members.ts";
import { type Meant, refused } from "../wire/native-fault.ts";
import { pictureIn } from "../wire/picture-in.ts";
import { withoutNumbers } from "./bedrock-fault.ts";

export interface PictureFamily {
  traits(model: string, operation: "generations" | "edits"): ImageTraits;
  generation(query: GenerationQuery, model: string): Rest;
  edit(query: EditQuery, model: string): Rest;
  read(answer: unknown, asked: Asked<GenerationQuery>): WholeReply;
}

export const sourcesOf = ({
  images,
  mask,
}: EditQuery): { readonly images: readonly FilePart[]; readonly mask: FilePart | undefined } => ({
  images: filesOf(images),
  mask: mask && fileOf(mask),
});

/** `{images: ["…"]}`: a picture that was held back is missing. */
export const paintedIn = (answer: unknown): readonly ImageResult[] =>
  listOf(memberOf(answer, "images")).flatMap((entry): ImageResult[] => {
    const image = pictureIn(entry);
    return image ? [{ image }] : [];
  });

/** Why there is no picture, in an answer whose status says yes. */
export const unpainted = (
  meant: Meant | undefined,
  words: string | undefined,
  asked: Asked<GenerationQuery>,
): GatewayError => refused(meant, words && withoutNumbers(words), asked);
