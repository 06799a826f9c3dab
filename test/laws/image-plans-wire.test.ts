/** Laws over image vendors: an option that the plan counts as sent is in the upstream request. */

import { planImage } from "../../server/images/plan/plan.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import type { ImageAdapter, UpstreamRequest } from "../../server/upstream/adapter.ts";
import type { EditQuery, GenerationQuery } from "../../server/upstream/contract.ts";
import { readAll } from "../chunks.ts";
import { partsOf } from "./adapter-cases.ts";
import { type Row, rows } from "./image-plan-rows.ts";
import { optionValues, queryOf } from "./image-requests.ts";
import { type Law, obey } from "./law.ts";

type Query = GenerationQuery | EditQuery;
type Rows = ReadonlyMap<string, Row>;

/** Without the random ids of each request. */
const settled = (what: unknown): string =>
  JSON.stringify(what).replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "");

async function requestOf(query: Query, { adapter, operation, target }: Row): Promise<string> {
  const adapterEndpoint = adapter?.[operation] as ImageAdapter<Query>;
  const { url, headers, body }: UpstreamRequest = adapterEndpoint.toUpstream(query, target);
  const { "content-type": type = "", ...otherHeaders } = headers;
  if (typeof body !== "object") return settled([url, otherHeaders, body]);
  if (type.startsWith("multipart/")) {
    return settled([url, otherHeaders, await partsOf({ url, headers, body })]);
  }
  return settled([url, otherHeaders, (await readAll(body.open())).toString("latin1")]);
}

interface OptionRequest {
  readonly option: string;
  /** As sent to the vendor. */
  readonly sentValue: string;
  readonly request: string;
}

/** Each value of each option alone, if it is sent to the vendor. The plan removes unsupported options before. */
async function* requestsFor(row: Row): AsyncGenerator<OptionRequest> {
  for (const options of optionValues()) {
    const [[option = "", value] = [], another] = Object.entries(options);
    // The number of images is sent with each request. Partial images are requested by polling the progress.
    if (another || option === "n" || option === "partial_images" || value === "auto") continue;
    const { query } = planImage(queryOf(options, row), row.capabilities, "drop");
    const sentValue = (query.options as Record<string, unknown>)[option] ?? query.aspectRatio;
    if (sentValue !== undefined) {
      yield { option, sentValue: String(sentValue), request: await requestOf(query, row) };
    }
  }
}

/** Models that only generate, only edit, or require more than a prompt and an image are skipped. */
const isDone = async (row: Row): Promise<boolean> => {
  try {
    await requestOf(queryOf({}, row), row);
    return true;
  } catch (error) {
    if (error instanceof GatewayError) return false;
    throw error;
  }
};

const ofEach =
  (judge: (row: Row) => Promise<string | undefined>): Law<Rows> =>
  async (kind) => {
    for (const [name, row] of kind) {
      const wrong = row.adapter && (await isDone(row)) && (await judge(row));
      if (wrong) throw new Error(`${name}: ${wrong}`);
    }
  };

const laws: Readonly<Record<string, Law<Rows>>> = {
  "no two values of an option make the same request": ofEach(async (row) => {
    const received = new Map<string, string>();
    for await (const { option, sentValue, request } of requestsFor(row)) {
      const before = received.get(`${option} ${request}`);
      if (before !== undefined && before !== sentValue)
        return `${option} ${sentValue} is sent as ${before}`;
      received.set(`${option} ${request}`, sentValue);
    }
    return undefined;
  }),

  "an option that a model does not support is refused before the upstream request": ofEach(
    async (row) => {
      try {
        await Array.fromAsync(requestsFor(row));
        return undefined;
      } catch (error) {
        if (error instanceof GatewayError) return error.message;
        throw error;
      }
    },
  ),
};

obey(rows, laws);
