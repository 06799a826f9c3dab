/** A failed cleanup of request temp storage fails neither the response nor its ledger row. */
import { expect, test } from "bun:test";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import type { Endpoint } from "../../server/pipeline/endpoint.ts";
import { createPipeline } from "../../server/pipeline/handle-request.ts";
import type { GenerationQuery } from "../../server/upstream/contract.ts";
import { createServices, incoming, snapshotWith } from "./pipeline-fixture.ts";

const stuck = new Error("the file will not close");
const endpoint = {
  operation: "generations",
  kind: "image",
  read: async () => ({ query: { model: "m", options: {} }, dispose: () => Promise.reject(stuck) }),
  write: () => ({ kind: "buffered", body: "{}", usage: undefined }),
} as unknown as Endpoint<GenerationQuery, string>;

const outcomes: readonly [string, () => Promise<string>, number][] = [
  ["a response", async () => "images", 200],
  ["an error response", () => Promise.reject(new GatewayError("upstream_error", "no")), 502],
];

test.each(outcomes)(
  "%s is sent and in the ledger, and no request stays in flight",
  async (_, send, status) => {
    const { services, rows, internalErrors } = createServices(snapshotWith("image"));
    const { serve, inFlight } = createPipeline(services);
    const response = await serve(endpoint, send, incoming);
    expect(response.status).toBe(status);
    expect(rows).toEqual([expect.objectContaining({ requestId: "req_1", status })]);
    expect(inFlight()).toBe(0);
    expect(internalErrors).toEqual([stuck]);
  },
);
