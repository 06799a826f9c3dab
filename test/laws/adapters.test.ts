/** Adapter laws for valid responses: they reach the client unchanged. */

import { describe, expect } from "bun:test";
import fc from "fast-check";
import { estimateInputTokens } from "../../server/embeddings/embedding-usage.ts";
import { verifyImages } from "../../server/pipeline/verify-response.ts";
import { tries } from "../depth.ts";
import {
  anything,
  imageAdapters,
  type Subject,
  subjects,
  upstreamResponseOf,
} from "./adapter-cases.ts";
import {
  asText,
  bits,
  cuts,
  deliver,
  drain,
  embeddingsQuery,
  encodings,
  entryOf,
  errorKindOf,
  eventStream,
  generationQuery,
  images,
  matrices,
  numbers,
  readImages,
  responseOf,
} from "./adapter-responses.ts";
import { type Law, obey } from "./law.ts";

const runs = tries(20);

const laws: Readonly<Record<string, Law<Subject>>> = {
  "vectors are in the order of their inputs, in whatever order the upstream sent them": async (
    subject,
  ) => {
    await fc.assert(
      fc.asyncProperty(
        matrices(8),
        encodings,
        fc.infiniteStream(fc.double({ noNaN: true })),
        async (rows, as, chance) => {
          const entries = rows
            .map((row, index) => ({
              entry: entryOf(asText(row, as), index),
              at: chance.next().value as number,
            }))
            .toSorted((a, b) => a.at - b.at)
            .map(({ entry }) => entry);
          const { data } = await deliver(
            subject,
            responseOf(entries),
            embeddingsQuery(rows.length),
          );
          expect(data.map(({ index }) => index)).toEqual(rows.map((_, at) => at));
          expect(data.map(({ embedding }) => bits(embedding as number[]))).toEqual(rows.map(bits));
        },
      ),
      runs,
    );
  },
  "vectors without an index are in the order in which they were sent": async (subject) => {
    await fc.assert(
      fc.asyncProperty(matrices(8), encodings, async (rows, as) => {
        const entries = rows.map((row) => entryOf(asText(row, as), undefined));
        const { data } = await deliver(subject, responseOf(entries), embeddingsQuery(rows.length));
        expect(data.map(({ embedding }) => bits(embedding as number[]))).toEqual(rows.map(bits));
      }),
      runs,
    );
  },
  "a response has as many vectors as inputs, or is refused": async (subject) => {
    await fc.assert(
      fc.asyncProperty(
        matrices(5),
        fc.integer({ min: 1, max: 5 }),
        fc.boolean(),
        async (rows, requested, indexed) => {
          const entries = rows.map((row, at) => entryOf(numbers(row), indexed ? at : undefined));
          const error = await errorKindOf(() =>
            deliver(subject, responseOf(entries), embeddingsQuery(requested)),
          );
          expect(error?.kind).toBe(rows.length === requested ? undefined : "upstream_invalid");
        },
      ),
      runs,
    );
  },
  "a vector is the same to the last bit in every encoding, received and sent": async (subject) => {
    await fc.assert(
      fc.asyncProperty(matrices(), encodings, encodings, async (rows, came, leaves) => {
        const entries = rows.map((row, at) => entryOf(asText(row, came), at));
        const { data } = await deliver(
          subject,
          responseOf(entries),
          embeddingsQuery(rows.length, leaves),
        );
        const got = data.map(({ embedding }) =>
          typeof embedding === "string"
            ? Buffer.from(embedding, "base64").toString("hex")
            : bits(embedding),
        );
        expect(
          data.every(({ embedding }) => (typeof embedding === "string") === (leaves === "base64")),
        ).toBe(true);
        expect(got).toEqual(rows.map(bits));
      }),
      tries(40),
    );
  },
  "tokens are the upstream's count, 0 included, or estimated": async (subject) => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.nat(), anything), async (count) => {
        const more = `,"usage":${JSON.stringify({ prompt_tokens: count, total_tokens: count })}`;
        const body = responseOf([entryOf("[0.5]", 0)], more);
        const { usage } = await deliver(subject, body, embeddingsQuery(1));
        const known = Number.isSafeInteger(count) && (count as number) >= 0;
        expect(usage.prompt_tokens).toBe(
          // JSON writes -0.
          known ? Math.abs(count as number) : await estimateInputTokens(embeddingsQuery(1).input),
        );
      }),
      runs,
    );
  },
  "a byte order mark before the response is ignored, and not passed on": async (subject) => {
    const tokens = '"model":"public-model","usage":{"prompt_tokens":1,"total_tokens":1}';
    for (const as of ["float", "base64"] as const) {
      const entry = entryOf(asText(Float32Array.of(0.5, 1), as), 0);
      const query = embeddingsQuery(1, as);
      for (const body of [responseOf([entry]), `{"object":"list","data":[${entry}],${tokens}}`]) {
        const { data } = await deliver(subject, `\ufeff${body}`, query);
        expect(data).toHaveLength(1);
        const { adapter, target } = subject;
        const response = await adapter.embeddings!.fromUpstream(
          upstreamResponseOf(`\ufeff${body}`),
          query,
          target,
        );
        if (response.verbatim) expect(response.verbatim.body.text(0, 1)).toBe("{");
      }
    }
  },
};

const imageLaws: Readonly<Record<string, Law<Subject>>> = {
  "images are in the order in which they were sent, unchanged, with their metadata": async ({
    adapter,
    target,
  }) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ b64_json: images, seed: fc.nat() }), {
          minLength: 1,
          maxLength: 4,
        }),
        fc.nat(),
        async (entries, created) => {
          const body = JSON.stringify({ created, data: entries, model: "m", extra: { a: 1 } });
          const response = await readImages(
            adapter.generations!,
            upstreamResponseOf(body),
            generationQuery,
            target,
          );
          expect(verifyImages(response)).toEqual({
            kind: "buffered",
            created,
            results: entries.map(({ b64_json, seed }) => ({
              image: { kind: "base64", base64: b64_json },
              extraFields: { seed },
            })),
            metadata: {},
            extraFields: { extra: { a: 1 } },
          });
        },
      ),
      runs,
    );
  },
  "a stream is parsed the same at any chunk boundaries": async ({ adapter, target }) => {
    const events = fc.array(
      fc.record({
        b64_json: images,
        prompt: fc.string({ unit: "grapheme" }),
        last: fc.boolean(),
      }),
      { minLength: 1, maxLength: 4 },
    );
    await fc.assert(
      fc.asyncProperty(
        events,
        cuts,
        fc.constantFrom("\n", "\r\n", "\r"),
        async (list, offsets, end) => {
          const frames = list.map(({ b64_json, prompt, last }, at) => {
            const type = `image_generation.${last ? "completed" : "partial_image"}`;
            const payload = { type, b64_json, prompt, partial_image_index: at };
            return `event: ${type}${end}: a comment${end}data: ${JSON.stringify(payload)}${end}${end}`;
          });
          const response = upstreamResponseOf(frames.join(""), {
            headers: eventStream,
            cuts: offsets,
          });
          const read = await drain(
            await readImages(adapter.generations!, response, generationQuery, target),
          );
          const imageList = read.map(({ image }) => (image as { base64?: string }).base64);
          expect(
            read.map(({ type, extraFields }, at) => [type, imageList[at], extraFields?.prompt]),
          ).toEqual(
            list.map(({ last, b64_json, prompt }) => [
              last ? "completed" : "partial",
              b64_json,
              prompt,
            ]),
          );
        },
      ),
      runs,
    );
  },
};

obey(subjects, laws);
describe("images", () => obey(imageAdapters, imageLaws));
