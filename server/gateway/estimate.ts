/** What a call may cost, before it is made: at the dearest of its targets, since nobody knows yet which will serve it. */
import { GatewayError } from "../std/gateway-error.ts";
import { pictureTokens } from "../upstream/catalogue/pictures/picture-tokens.ts";
import { listedPicturePrice } from "../upstream/catalogue/prices/index.ts";
import type {
  EditQuery,
  EmbeddingsQuery,
  GenerationQuery,
  Rest,
  Target,
} from "../upstream/contract.ts";
import type { ImageTraits } from "../upstream/image-traits.ts";
import type { Estimate } from "../usage/budgets/budgets.ts";
import { costOf, type Delivered } from "../usage/cost.ts";
import { type Policy, planPicture } from "./pictures/plan.ts";
import { loadOf } from "./stages/load.ts";
import { priceOf } from "./vectors-cost.ts";

/** What a model that is not asked for a size makes, or at most a little more than that. */
const usualSize = "1024x1024";
const million = 1_000_000;

export function estimateVectors(
  { input }: Pick<EmbeddingsQuery, "input">,
  targets: readonly Target[],
): Estimate {
  const { tokens } = loadOf(input);
  return dearest(
    targets.map((target) => {
      const price = priceOf(target);
      return price === null ? undefined : (tokens * price) / million;
    }),
  );
}

export interface Picturing {
  readonly operation: "generations" | "edits";
  readonly query: GenerationQuery | EditQuery;
  readonly targets: readonly Target[];
  readonly policy: Policy;
  readonly traits: (target: Target, operation: "generations" | "edits") => ImageTraits;
}

export function estimatePictures(picturing: Picturing): Estimate {
  const { operation, query, targets, policy, traits } = picturing;
  return dearest(
    targets.flatMap((target) => {
      const planned = tryPlan(query, traits(target, operation), policy);
      return planned ? [pictureDollars(operation, planned, target)] : [];
    }),
  );
}

/** Who cannot serve a call will not be paid for it; that is told by a stage. */
function tryPlan(
  query: GenerationQuery | EditQuery,
  traits: ImageTraits,
  policy: Policy,
): GenerationQuery | EditQuery | undefined {
  try {
    return planPicture(query, traits, policy).query;
  } catch (error) {
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}

function pictureDollars(
  operation: "generations" | "edits",
  query: GenerationQuery | EditQuery,
  target: Target,
): number | undefined {
  const price = target.price ?? listedPicturePrice(target, { operation, rest: query.rest });
  if (!price) return undefined;
  const { n = 1 } = query.options;
  const size = unlessAuto(query.options.size) ?? query.wanted;
  const quality = unlessAuto(query.options.quality);
  const tokens = price.tokens ? tokensOf(query, target, n) : {};
  const cost = (what: Pick<Delivered, "size" | "quality">): number | undefined =>
    costOf(price, { ...tokens, ...what, images: n });
  const plain = cost({ size, quality });
  if (plain !== undefined) return plain;
  const sized = size ?? usualSize;
  // Unasked it chooses by itself, and may choose the dearest.
  const qualities = quality === undefined ? qualitiesOf(price.pictures ?? {}) : [];
  return (
    cost({ size: sized, quality }) ?? most(qualities.map((q) => cost({ size: sized, quality: q })))
  );
}

function tokensOf(
  query: GenerationQuery | EditQuery,
  { model }: Target,
  n: number,
): Pick<Delivered, "input" | "output"> {
  const { size, quality, partial_images: previews = 0, input_fidelity: fidelity } = query.options;
  const known = pictureTokens(model);
  const drawn = known?.out(sizeClassOf(query.rest) ?? unlessAuto(size), unlessAuto(quality));
  if (!known || drawn === undefined) return {};
  const shown = "images" in query ? query.images.length + (query.mask ? 1 : 0) : 0;
  const perShown = fidelity === "high" ? (known.inClosely ?? known.in) : known.in;
  const { tokens: words } = loadOf({ kind: "text", texts: [query.prompt] });
  // community.openai.com/t/1381388: several pictures of one call "are billed as though they were separately performed".
  return {
    input: { text: n * words, image: n * shown * perShown },
    output: {
      text: n * (known.words ?? 0),
      image: n * (drawn + previews * (known.preview ?? 0)),
    },
  };
}

const unlessAuto = (value: string | undefined): string | undefined =>
  value === "auto" ? undefined : value;

/** Google's own word for how large, which rides along. */
function sizeClassOf({ imageConfig, generationConfig }: Rest): string | undefined {
  const own = memberOf(imageConfig, "imageSize");
  const size = own ?? memberOf(memberOf(generationConfig, "imageConfig"), "imageSize");
  return typeof size === "string" ? size : undefined;
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? (value as Rest)[name] : undefined;

/** Those that a table of prices knows: "high" of "high" and of "high 1024x1024". */
const qualitiesOf = (pictures: Readonly<Record<string, number>>): string[] =>
  Object.keys(pictures)
    .map((key) => key.split(" ")[0] ?? "")
    .filter((word) => word !== "" && !/^(<=)?\d+x\d+$/.test(word));

const most = (costs: readonly (number | undefined)[]): number | undefined =>
  costs.reduce((a, b) => (a === undefined || (b !== undefined && b > a) ? b : a), undefined);

/** One of unknown price makes the whole uncertain; what the others cost is known all the same. */
const dearest = (costs: readonly (number | undefined)[]): Estimate =>
  costs.length === 0
    ? { dollars: 0, certain: true }
    : { dollars: most(costs), certain: !costs.includes(undefined) };
