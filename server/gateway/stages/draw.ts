/** One target draws what was planned for it: its sources made ready, its calls made, its pictures finished. */
import { GatewayError } from "../../std/gateway-error.ts";
import type { Scratch } from "../../std/scratch.ts";
import type { Signal } from "../../std/signal.ts";
import type {
  EditQuery,
  FilePart,
  GenerationQuery,
  ImageReply,
  Target,
  WholeReply,
} from "../../upstream/contract.ts";
import type { ImageTraits } from "../../upstream/image-traits.ts";
import type { Usage } from "../endpoint.ts";
import { billed } from "../pictures/bill.ts";
import { fanOut } from "../pictures/fan-out.ts";
import { type Conversion, finishReply } from "../pictures/finish.ts";
import type { Held } from "../pictures/look.ts";
import { type Policy, planPicture } from "../pictures/plan.ts";
import { prepare } from "../pictures/sources.ts";
import type { Call, Stage } from "./stage.ts";

/** What the house has for pictures. */
export interface PictureTools {
  readonly traits: (target: Target, operation: "generations" | "edits") => ImageTraits;
  /** A link of an upstream's answer. */
  download(url: string, target: Target, signal: Signal, scratch: Scratch): Promise<Held>;
  /** A link of a caller's, as a file that has been looked at. */
  bring(url: string, param: string, signal: Signal, scratch: Scratch): Promise<FilePart>;
  /** Whether a link leads into the operator's own network. */
  isInside(url: string): boolean;
  convert(picture: Held, to: Conversion, signal: Signal, scratch: Scratch): Promise<Held>;
  convertFile(
    file: FilePart,
    format: Conversion["format"],
    signal: Signal,
    scratch: Scratch,
  ): Promise<FilePart>;
  /** The same query with its uploads looked at, to the last pixel. Throws what is wrong with them. */
  checkEdit(query: EditQuery, call: Call<GenerationQuery>): Promise<EditQuery>;
  mask(mask: FilePart, to: "white" | "black", signal: Signal, scratch: Scratch): Promise<FilePart>;
}

type Drawing = GenerationQuery | EditQuery;

export const policyOf = <Q>({ route, trip }: Call<Q>): Policy =>
  trip.caller?.parameters ?? route.parameters ?? "adapt";

const operationOf = <Q>({ operation }: Call<Q>): "generations" | "edits" =>
  operation === "edits" ? "edits" : "generations";

/** Why this target cannot serve the call. Undefined where it can. */
export const objection =
  (traits: PictureTools["traits"]) =>
  <Q extends Drawing>(call: Call<Q>, target: Target): unknown => {
    try {
      planPicture(call.query, traits(target, operationOf(call)), policyOf(call));
      return undefined;
    } catch (error) {
      return error;
    }
  };

const usageOf = ({ results, usage }: WholeReply): Usage => ({
  ...(usage && { inputTokens: usage.input_tokens, outputTokens: usage.output_tokens }),
  images: results.length,
});

/** For the account of a call: which door it was. */
export const nameOf = ({ upstream, model, surface }: Target): string =>
  `${upstream.id}/${model}${surface ? ` (${surface})` : ""}`;

export const draw =
  <Q extends Drawing>(tools: PictureTools): Stage<Q, ImageReply> =>
  (next) =>
  async (call) => {
    const { trip, signal, scratch, target } = call;
    if (!target) throw new Error("No stage chose a target.");
    const traits = tools.traits(target, operationOf(call));
    const plan = planPicture(call.query, traits, policyOf(call));
    const adapted = new Set(plan.adapted);
    trip.adapted = [...adapted];
    trip.dropped = plan.dropped;
    const onAdapted = (name: string): void => {
      if (!adapted.has(name)) trip.step(`converted: ${name}`);
      adapted.add(name);
      trip.adapted = [...adapted];
    };
    const query = await prepare(plan.query, traits.edits, {
      bring: (url, param) => tools.bring(url, param, signal, scratch),
      mask: (mask, to) => tools.mask(mask, to, signal, scratch),
      convert: (file, format) => tools.convertFile(file, format, signal, scratch),
      onAdapted,
    });
    const reply = await fanOut(
      { ...plan, query },
      {
        ask: (part) => next({ ...call, query: part }),
        inEvents: call.query.stream,
        onMissing: (missing) => {
          trip.missing = missing;
        },
      },
    ).catch((error: unknown) => {
      trip.step(`${nameOf(target)}: ${error instanceof GatewayError ? error.fault : "defect"}`);
      throw error;
    });
    // Of a stream nobody knows yet how it ends.
    trip.step(`${nameOf(target)}: ${reply.kind === "stream" ? "draws" : "drew"}`);
    const { quality, background } = plan.query.options;
    // It is paid for, whatever becomes of it from here on.
    if (reply.kind === "whole") {
      trip.usage = usageOf(reply);
      billed(reply, { operation: operationOf(call), target, query, trip });
    }
    const finished = await finishReply(
      reply,
      {
        finish: plan.finish,
        stream: call.query.stream,
        asked: { ...(quality && { quality }), ...(background && { background }) },
      },
      {
        download: (url) => tools.download(url, target, signal, scratch),
        convert: (picture, to) => tools.convert(picture, to, signal, scratch),
        isInside: tools.isInside,
        onMissing: (count, error) => {
          const fault = error instanceof GatewayError ? error.fault : "internal";
          trip.missing = { count: count + (trip.missing?.count ?? 0), fault };
        },
        onAdapted,
      },
    );
    return billed(finished, { operation: operationOf(call), target, query, trip });
  };
