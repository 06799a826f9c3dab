/** Runware: one address that takes a list of tasks, of any maker's model, and answers when they are done. */
import type { Asked, Pending, PictureQuestion, WireReply, WireRequest } from "../../adapter.ts";
import type {
  EditQuery,
  GenerationQuery,
  ImageResult,
  Rest,
  Target,
  Upstream,
  WholeReply,
} from "../../contract.ts";
import { anyEdges, type EditTraits, type ImageTraits } from "../../image-traits.ts";
import type { Vendor } from "../../vendor.ts";
import { askForPicture, askWithBearer } from "../wire/ask.ts";
import { readDocument } from "../wire/document.ts";
import { edgesOf } from "../wire/edges.ts";
import { asDataUrl } from "../wire/edit-sources.ts";
import { bearer } from "../wire/headers.ts";
import { listIn, listOf, memberOf, restOf, unusable } from "../wire/members.ts";
import { nativeFault } from "../wire/native-fault.ts";
import { pictureIn } from "../wire/picture-in.ts";
import { readAgain } from "../wire/refusal.ts";
import { meantBy, statusOf } from "./codes.ts";

const baseUrl = "https://api.runware.ai/v1";

const rootOf = ({ baseUrl: place = baseUrl }: Upstream): string => place;

/**
 * Where a model wants its pictures. Those of makers that Runware passes calls on to take a list of references; whatever
 * else has a name there is a checkpoint of a kind that begins from one picture. A field that a model does not have is
 * refused, so this decides whether an edit works. From maximhq/bifrost, core/providers/runware/models.go, which took it
 * from schemas.runware.ai.
 */
const byReference =
  /^(alibaba:(qwen-image|wan)@|bfl:([3-9]|\d\d)@|bria:11@|bytedance:|google:|ideogram:[2-4]@2|imagineart:|klingai:kling-image|krea:|luma:|openai:|prunaai:2@|reve:|runway:4@|sourceful:|vidu:|xai:|runware:(106|108@2[02]|400)\b)/;
/** These make a picture as large as the one they are given, and know no width and height. */
const unsized = /^(bfl:1@[23]|bfl:flux@|bria:21@|ideogram:4@[35]|runware:300@)/;

function editTraits(model: string): EditTraits {
  return byReference.test(model) ? { maxImages: 8 } : { maxImages: 1, mask: "white" };
}

const pictures = ({ model }: Target): ImageTraits => ({
  // runware.ai/docs, image inference: numberResults from 1 to 20. How many a maker behind it makes is not told.
  maxImages: byReference.test(model) ? 4 : 20,
  takes: { output_format: ["jpeg", "png", "webp"], response_format: ["url", "b64_json"] },
  sizes: unsized.test(model) ? { list: [] } : anyEdges,
  edits: editTraits(model),
});

const formats: Readonly<Record<string, string>> = { jpeg: "JPG", png: "PNG", webp: "WEBP" };

function taskOf(query: GenerationQuery, { model }: Target): Rest {
  const { n, output_format, response_format } = query.options;
  return {
    ...query.rest,
    taskType: "imageInference",
    taskUUID: crypto.randomUUID(),
    model,
    positivePrompt: query.prompt,
    ...edgesOf(query),
    includeCost: true,
    numberResults: n,
    outputType: response_format === "url" ? "URL" : "base64Data",
    ...(output_format !== undefined && { outputFormat: formats[output_format] ?? output_format }),
  };
}

/** Most models must be told a size; one that is left to them is this. */
function usualEdges(query: GenerationQuery, model: string): Rest {
  const told = "width" in query.rest || "resolution" in query.rest;
  if (told || unsized.test(model) || edgesOf(query)) return {};
  // Seedream from 4.5 on makes nothing smaller than 3.7 megapixels.
  const edge = /seedream@(4\.[5-9]|[5-9])/.test(model) ? 2048 : 1024;
  return { width: edge, height: edge };
}

function sourcesOf(query: EditQuery, { model }: Target): Rest {
  const urls = query.images.map(asDataUrl);
  // A model that works by references takes the first one's shape by itself.
  if (byReference.test(model)) return { inputs: { referenceImages: urls } };
  return {
    ...usualEdges(query, model),
    seedImage: urls[0],
    ...(query.mask && { maskImage: asDataUrl(query.mask) }),
  };
}

const ask = ({ upstream }: Target, task: Rest): WireRequest =>
  askForPicture(rootOf(upstream), bearer(upstream), [task]);

async function fromUpstream(
  reply: WireReply,
  asked: Asked<GenerationQuery>,
): Promise<WholeReply | Pending> {
  const answer = await readDocument(reply, asked.scratch);
  const errors = listOf(memberOf(answer, "errors"));
  const done = memberOf(answer, "data") === undefined ? [] : listIn(answer, "data");
  const drawn = done.filter((entry) => imageIn(entry) !== undefined);
  // Of several pictures some may fail: those that are there have been paid for.
  if (drawn.length > 0) return whole(drawn);
  if (errors.length > 0) {
    const { query, target } = asked;
    const refusal = readAgain(reply, answer, statusOf(answer));
    throw await fault(refusal, { target, model: query.model });
  }
  if (done.length === 0) throw unusable("it has neither pictures nor errors");
  return later(done[0], asked.target);
}

const imageIn = (entry: unknown) =>
  pictureIn(memberOf(entry, "imageBase64Data")) ??
  pictureIn(memberOf(entry, "imageURL")) ??
  pictureIn(memberOf(entry, "imageDataURI"));

/** A task that its sender wants to be asked about: `deliveryMethod: async`. */
function later(entry: unknown, target: Target): Pending {
  const taskUUID = memberOf(entry, "taskUUID");
  if (typeof taskUUID !== "string") throw unusable("an entry has neither a picture nor a task");
  const { once: _, ...question } = ask(target, { taskType: "getResponse", taskUUID });
  return { kind: "pending", poll: question };
}

function whole(drawn: readonly unknown[]): WholeReply {
  const costs = drawn.map((entry) => memberOf(entry, "cost"));
  const known = costs.filter((cost) => typeof cost === "number");
  return {
    kind: "whole",
    results: drawn.map((entry): ImageResult => {
      const image = imageIn(entry);
      if (!image) throw unusable("an entry has no picture");
      return { image, ...restOf(entry, toldOf(entry)) };
    }),
    facts: {},
    // Known of all, or not at all.
    ...(known.length === costs.length && { cost: known.reduce((sum, cost) => sum + cost, 0) }),
  };
}

/** A picture that is marked has been made and paid for all the same: whoever had it looked at hears what was found. */
const toldOf = (entry: unknown): readonly string[] =>
  memberOf(entry, "NSFWContent") === false ? ["seed"] : ["seed", "NSFWContent"];

const fault = nativeFault({ recognise: ({ body }) => meantBy(body) });

const generations: PictureQuestion<GenerationQuery> = {
  toUpstream: (query, target) =>
    ask(target, { ...taskOf(query, target), ...usualEdges(query, target.model) }),
  fromUpstream,
};

const edits: PictureQuestion<EditQuery> = {
  toUpstream: (query, target) =>
    ask(target, { ...taskOf(query, target), ...sourcesOf(query, target) }),
  fromUpstream,
};

export const runware: Vendor = {
  kind: { name: "runware", baseUrl, needs: ["apiKey"], serves: "image", options: {} },
  adapter: {
    name: "runware",
    generations,
    edits,
    pictures,
    probe: (upstream) =>
      askWithBearer(rootOf(upstream), upstream, [
        {
          taskType: "accountManagement",
          taskUUID: crypto.randomUUID(),
          operation: "getDetails",
        },
      ]),
    fault,
  },
};
