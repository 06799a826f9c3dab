/**
 * A law over every embeddings adapter: an option or a model that makes inputs depend on each other switches off the
 * cache, deduplication, single-flight, batching and splitting. The stages are the real ones, in their order.
 */
import { expect } from "bun:test";
import type { Model } from "../../server/config/snapshot.ts";
import { checkParameters } from "../../server/embeddings/adapt-parameters.ts";
import { batch } from "../../server/embeddings/batch.ts";
import { cacheStage } from "../../server/embeddings/cache/cache-stage.ts";
import { EmbeddingCache } from "../../server/embeddings/cache/embedding-cache.ts";
import { SingleFlight } from "../../server/embeddings/single-flight.ts";
import { split } from "../../server/embeddings/split.ts";
import { brand } from "../../server/lib/branded.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import type { PermittedModel } from "../../server/request/caller.ts";
import { composeStages } from "../../server/request/stage.ts";
import { adapters } from "../../server/upstream/adapters/index.ts";
import { contextOptions, isContextualModel } from "../../server/upstream/contextual.ts";
import type {
  EmbeddingCapabilities,
  EmbeddingsQuery,
  Target,
} from "../../server/upstream/contract.ts";
import {
  type EmbeddingsRequest,
  HeldUpstream,
  outcomeOf,
  requestFor,
  settled,
} from "../embeddings/stage-fixture.ts";
import { subjects } from "./adapter-cases.ts";
import { type Law, obey } from "./law.ts";
import { vendorSubjects } from "./vendor-requests.ts";

interface Dependent {
  readonly target: Target;
  readonly contextual: boolean;
  readonly extraFields: EmbeddingsQuery["extraFields"];
}

const everyTarget = new Map<string, Target>([
  ...[...subjects].map(([name, { target }]) => [name, target] as const),
  ...[...vendorSubjects].map(([name, { vendor }]) => [name, vendor.target] as const),
]);
const embedders = [...everyTarget].filter(([, { upstream }]) => traitsAt(upstream.kind));

/** Each adapter with each such option, and each contextual model at each adapter. */
const dependents = new Map<string, Dependent>(
  embedders.flatMap(([name, target]) => [
    ...contextOptions.flatMap((option) =>
      [true, "yes", {}].map((value): [string, Dependent] => [
        `${name} with ${option}: ${JSON.stringify(value)}`,
        { target, contextual: false, extraFields: { [option]: value } },
      ]),
    ),
    ...contextOptions.flatMap((option) =>
      [{ extra_body: { [option]: true } }, { options: [{ jina: { [option]: 1 } }] }].map(
        (extraFields): [string, Dependent] => [
          `${name} with ${JSON.stringify(extraFields)}`,
          { target, contextual: false, extraFields },
        ],
      ),
    ),
    ...["voyage-context-4", "pplx-embed-context-v1-4b"].map((model): [string, Dependent] => [
      `${name} with ${model}`,
      {
        target: { ...target, model: `${model}` },
        contextual: isContextualModel(model),
        extraFields: {},
      },
    ]),
  ]),
);

function traitsAt(kind: string) {
  return adapters.get(kind)?.embeddings?.capabilities;
}

function arrange({ target, contextual, extraFields }: Dependent) {
  const upstream = new HeldUpstream();
  const capabilities = (there: Target): EmbeddingCapabilities => {
    const found = traitsAt(there.upstream.kind)?.(there);
    if (!found) throw new Error("no embeddings");
    return found;
  };
  const model: PermittedModel = brand<Model, "permitted">({
    id: "public-model",
    kind: "embedding",
    targets: [target],
    source: "yaml",
    ownedBy: "test",
    maxImages: 1,
    ...(contextual && { contextual: true }),
  });
  const send = composeStages(
    [
      checkParameters(capabilities),
      cacheStage({
        cache: new EmbeddingCache({ maxBytes: 1e6 }),
        singleFlight: new SingleFlight(),
        enabled: () => true,
      }),
    ],
    composeStages(
      [
        split({ capabilities }),
        batch({
          capabilities,
          enabled: () => true,
          concurrency: 1,
          fastMs: 0,
          clock: () => 0,
        }),
      ],
      upstream.next,
    ),
  );
  const requestOf = (texts: readonly string[]): EmbeddingsRequest =>
    requestFor(texts, model, { extraFields });
  return { upstream, send, requestOf, most: capabilities(target).maxItems };
}

const laws: Readonly<Record<string, Law<Dependent>>> = {
  "each request is sent upstream alone and unsplit, and its vectors are not cached": async (
    subject,
  ) => {
    const { upstream, send, requestOf, most } = arrange(subject);
    const document = ["same", "other", "same"].slice(0, most);
    const documents = [document, document, ["same"]];
    const outcomes = documents.map(async (texts) =>
      outcomeOf(Promise.resolve(send(requestOf(texts)))),
    );
    await settled();
    expect(upstream.requestedTexts).toEqual(documents);
    await upstream.respondToAll();
    for (const outcome of await Promise.all(outcomes)) expect(outcome).toHaveProperty("value");
    const again = Promise.resolve(send(requestOf(["same"])));
    await settled();
    expect(upstream.requestedTexts).toHaveLength(4);
    upstream.requests[3]?.respond();
    await again;
  },
  "a request with more inputs than the upstream takes is refused, and never split": async (
    subject,
  ) => {
    const { upstream, send, requestOf, most } = arrange(subject);
    const texts = Array.from({ length: most + 1 }, (_, at) => `chunk ${at}`);
    const sent = outcomeOf(Promise.resolve().then(() => send(requestOf(texts))));
    // The upstream does not respond here, so a request that reaches it would wait forever.
    const outcome = await Promise.race([
      sent,
      settled()
        .then(settled)
        .then(() => ({})),
    ]);
    const error = "error" in outcome ? outcome.error : undefined;
    expect(error).toBeInstanceOf(GatewayError);
    expect((error as GatewayError).kind).toBe("invalid_input");
    expect((error as GatewayError).message).toContain(`at most ${most} inputs`);
    expect(upstream.requests).toEqual([]);
  },
  "an upstream's refusal for its size is the client's response, and the request is not split":
    async (subject) => {
      const { upstream, send, requestOf, most } = arrange(subject);
      const sent = outcomeOf(Promise.resolve(send(requestOf(["a", "b"].slice(0, most)))));
      await settled();
      upstream.requests[0]?.fail(new GatewayError("max_tokens_per_request", "Too many tokens."));
      const outcome = await Promise.race([
        sent,
        settled()
          .then(settled)
          .then(() => ({})),
      ]);
      expect(upstream.requests).toHaveLength(1);
      expect(outcome).toHaveProperty("error");
    },
};

obey(dependents, laws);
