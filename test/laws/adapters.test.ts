/** Laws of how adapters read what upstreams send: truth comes through unharmed, and of the rest only faults escape. */
import { expect } from "bun:test";
import fc from "fast-check";
import { faults } from "../../contract/faults.ts";
import { embeddingsEndpoint } from "../../server/gateway/endpoints/embeddings.ts";
import { verifyEmbeddings, verifyImages } from "../../server/gateway/verify.ts";
import { GatewayError } from "../../server/std/gateway-error.ts";
import type {
  EmbeddingsQuery,
  GenerationQuery,
  ImageEvent,
  ImageReply,
} from "../../server/upstream/contract.ts";
import { fakePicture } from "../fake-upstream.ts";
import {
  anything,
  key,
  type ReplyOptions,
  replyOf,
  type Subject,
  subjects,
} from "./adapter-cases.ts";
import { type Law, obey, tries } from "./law.ts";

const runs = tries(20);

const question = (count: number, encoding: "float" | "base64" = "float"): EmbeddingsQuery => ({
  model: "public-model",
  input: { kind: "text", texts: Array.from({ length: count }, (_, i) => `text ${i}`) },
  single: false,
  encoding,
  rest: {},
});
const drawing: GenerationQuery = {
  model: "public-model",
  prompt: "an otter",
  stream: false,
  options: {},
  rest: {},
};

/** What comes of it: the fault, or undefined when it was taken. Anything else that is thrown is a defect. */
async function faultOf(doing: () => Promise<unknown>): Promise<GatewayError | undefined> {
  try {
    await doing();
    return undefined;
  } catch (error) {
    if (error instanceof GatewayError && error.fault !== "internal") return error;
    throw error;
  }
}

async function drain(reply: ImageReply): Promise<ImageEvent[]> {
  return reply.kind === "stream" ? Array.fromAsync(reply.events) : [];
}

/** Reads a body as an answer to each question the adapter can ask. */
async function readAll(
  { adapter, target }: Subject,
  body: string | Uint8Array,
  options: ReplyOptions = {},
): Promise<void> {
  const reply = () => replyOf(body, options);
  const edit = { ...drawing, images: [], files: [] };
  await faultOf(async () => {
    const query = question(2);
    verifyEmbeddings(
      await adapter.embeddings!.fromUpstream(reply(), query, target),
      query,
      undefined,
    );
  });
  await faultOf(async () =>
    drain(verifyImages(await adapter.generations!.fromUpstream(reply(), drawing, target))),
  );
  await faultOf(async () =>
    drain(verifyImages(await adapter.edits!.fromUpstream(reply(), edit, target))),
  );
}

const float32 = fc.float({ noNaN: true, noDefaultInfinity: true });
/** Of one length, and none of them all zeros. */
const matrices = (maxRows = 5): fc.Arbitrary<Float32Array[]> =>
  fc
    .tuple(fc.integer({ min: 1, max: maxRows }), fc.integer({ min: 1, max: 16 }))
    .chain(([rows, columns]) =>
      fc.array(
        fc
          .array(float32, { minLength: columns, maxLength: columns })
          .filter((row) => row.some((number) => number !== 0))
          .map((row) => Float32Array.from(row)),
        { minLength: rows, maxLength: rows },
      ),
    );

const bits = (vector: ArrayLike<number>): string =>
  Buffer.from(Float32Array.from(vector).buffer).toString("hex");
const numbers = (vector: Float32Array): string =>
  `[${Array.from(vector, (n) => (Object.is(n, -0) ? "-0" : String(n))).join(",")}]`;
const packed = (vector: Float32Array): string => Buffer.from(vector.buffer).toString("base64");
const asText = (vector: Float32Array, as: "float" | "base64"): string =>
  as === "float" ? numbers(vector) : `"${packed(vector)}"`;

const answerOf = (entries: readonly string[], more = ""): string =>
  `{"object":"list","data":[${entries.join(",")}],"model":"m"${more}}`;
const entryOf = (vector: string, index: number | undefined): string =>
  `{"object":"embedding",${index === undefined ? "" : `"index":${index},`}"embedding":${vector}}`;

const { write } = embeddingsEndpoint({ maxInputs: 2048 });

/** Through the adapter, the checks and the endpoint: what the caller has in the end. */
async function deliver({ adapter, target }: Subject, body: string, query: EmbeddingsQuery) {
  const reply = await adapter.embeddings!.fromUpstream(replyOf(body), query, target);
  const written = await write(verifyEmbeddings(reply, query, undefined), query, undefined as never);
  if (written.kind !== "whole") throw new Error("embeddings do not leave as a stream");
  const text =
    typeof written.body === "string" ? written.body : Buffer.from(written.body).toString();
  return JSON.parse(text) as {
    data: { index: number; embedding: number[] | string }[];
    usage: { prompt_tokens: number } | null;
  };
}

const encodings = fc.constantFrom("float" as const, "base64" as const);
const picture = Buffer.from(fakePicture("x", 0, { format: "png", width: 8, height: 8 }));
const pictures = fc
  .uint8Array({ maxLength: 30 })
  .map((more) => Buffer.concat([picture, more]).toString("base64"));

/** Answers that are nearly right, and wrong in every place by turns. */
const oddAnswers = fc.oneof(
  anything,
  fc.record(
    {
      data: fc.oneof(
        anything,
        fc.array(
          fc.oneof(
            anything,
            fc.record(
              {
                index: fc.oneof(anything, fc.nat(3)),
                embedding: fc.oneof(anything, fc.array(fc.oneof(fc.double(), anything))),
                b64_json: fc.oneof(anything, pictures),
                url: fc.oneof(anything, fc.webUrl()),
                revised_prompt: anything,
                object: anything,
              },
              { requiredKeys: [] },
            ),
          ),
          { maxLength: 4 },
        ),
      ),
      usage: fc.oneof(
        anything,
        fc.record(
          { prompt_tokens: anything, total_tokens: anything, input_tokens: anything },
          { requiredKeys: [] },
        ),
      ),
      created: anything,
      object: fc.oneof(anything, fc.constant("list")),
      model: anything,
      size: anything,
      error: anything,
    },
    { requiredKeys: [] },
  ),
);

const oddEvents = fc.oneof(
  anything,
  fc.record(
    {
      type: fc.oneof(
        anything,
        fc.constantFrom("image_generation.completed", "image_edit.partial_image", "error"),
      ),
      b64_json: fc.oneof(anything, pictures),
      created_at: anything,
      partial_image_index: anything,
      usage: anything,
      error: anything,
      size: anything,
    },
    { requiredKeys: [] },
  ),
);
const eventStream = { "content-type": "text/event-stream" };
const cuts = fc.array(fc.nat(4000), { maxLength: 12 });

const laws: Readonly<Record<string, Law<Subject>>> = {
  "vectors come in the order of their inputs, in whatever order they were sent": async (
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
          const { data } = await deliver(subject, answerOf(entries), question(rows.length));
          expect(data.map(({ index }) => index)).toEqual(rows.map((_, at) => at));
          expect(data.map(({ embedding }) => bits(embedding as number[]))).toEqual(rows.map(bits));
        },
      ),
      runs,
    );
  },
  "vectors without an index come in the order they were sent": async (subject) => {
    await fc.assert(
      fc.asyncProperty(matrices(8), encodings, async (rows, as) => {
        const entries = rows.map((row) => entryOf(asText(row, as), undefined));
        const { data } = await deliver(subject, answerOf(entries), question(rows.length));
        expect(data.map(({ embedding }) => bits(embedding as number[]))).toEqual(rows.map(bits));
      }),
      runs,
    );
  },
  "there are as many vectors as inputs, or none at all": async (subject) => {
    await fc.assert(
      fc.asyncProperty(
        matrices(5),
        fc.integer({ min: 1, max: 5 }),
        fc.boolean(),
        async (rows, asked, indexed) => {
          const entries = rows.map((row, at) => entryOf(numbers(row), indexed ? at : undefined));
          const fault = await faultOf(() => deliver(subject, answerOf(entries), question(asked)));
          expect(fault?.fault).toBe(rows.length === asked ? undefined : "upstream_invalid");
        },
      ),
      runs,
    );
  },
  "a vector is the same to the last bit, whichever way it came and leaves": async (subject) => {
    await fc.assert(
      fc.asyncProperty(matrices(), encodings, encodings, async (rows, came, leaves) => {
        const entries = rows.map((row, at) => entryOf(asText(row, came), at));
        const { data } = await deliver(subject, answerOf(entries), question(rows.length, leaves));
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
  "tokens are what the upstream counted, or unknown": async (subject) => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.nat(), anything), async (count) => {
        const more = `,"usage":${JSON.stringify({ prompt_tokens: count, total_tokens: count })}`;
        const body = answerOf([entryOf("[0.5]", 0)], more);
        const { usage } = await deliver(subject, body, question(1));
        const known = Number.isSafeInteger(count) && (count as number) >= 0;
        expect(usage?.prompt_tokens).toBe(known ? (count as number) : undefined);
      }),
      runs,
    );
  },
  "pictures come in the order they were sent, as they were sent, with what was said of them":
    async ({ adapter, target }) => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.record({ b64_json: pictures, seed: fc.nat() }), {
            minLength: 1,
            maxLength: 4,
          }),
          fc.nat(),
          async (entries, created) => {
            const body = JSON.stringify({ created, data: entries, model: "m", extra: { a: 1 } });
            const reply = await adapter.generations!.fromUpstream(replyOf(body), drawing, target);
            expect(verifyImages(reply)).toEqual({
              kind: "whole",
              created,
              results: entries.map(({ b64_json, seed }) => ({
                image: { kind: "base64", base64: b64_json },
                rest: { seed },
              })),
              facts: {},
              rest: { extra: { a: 1 } },
            });
          },
        ),
        runs,
      );
    },
  "a stream is read the same wherever its bytes are cut": async ({ adapter, target }) => {
    const events = fc.array(
      fc.record({
        b64_json: pictures,
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
        async (list, places, end) => {
          const frames = list.map(({ b64_json, prompt, last }, at) => {
            const type = `image_generation.${last ? "completed" : "partial_image"}`;
            const payload = { type, b64_json, prompt, partial_image_index: at };
            return `event: ${type}${end}: a comment${end}data: ${JSON.stringify(payload)}${end}${end}`;
          });
          const reply = replyOf(frames.join(""), { headers: eventStream, cuts: places });
          const read = await drain(await adapter.generations!.fromUpstream(reply, drawing, target));
          expect(read.map(({ type, base64, rest }) => [type, base64, rest?.prompt])).toEqual(
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
  "of any bytes, only faults escape": async (subject) => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.uint8Array({ maxLength: 200 }),
          fc.string().map((s) => new TextEncoder().encode(s)),
        ),
        cuts,
        async (bytes, places) => {
          await readAll(subject, bytes);
          await readAll(subject, bytes, { headers: eventStream, cuts: places });
        },
      ),
      runs,
    );
  },
  "of any JSON, however odd, only faults escape": async (subject) => {
    await fc.assert(
      fc.asyncProperty(oddAnswers, async (answer) => readAll(subject, JSON.stringify(answer))),
      tries(60),
    );
  },
  "of any broken JSON, only faults escape": async (subject) => {
    await fc.assert(
      fc.asyncProperty(
        oddAnswers,
        fc.nat(),
        fc.string({ maxLength: 3 }),
        async (answer, at, noise) => {
          const text = JSON.stringify(answer);
          const place = at % (text.length + 1);
          await readAll(subject, text.slice(0, place) + noise + text.slice(place + 1));
        },
      ),
      runs,
    );
  },
  "of any events, however odd, only faults escape": async (subject) => {
    await fc.assert(
      fc.asyncProperty(fc.array(oddEvents, { maxLength: 4 }), cuts, async (events, places) => {
        const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
        await readAll(subject, body, { headers: eventStream, cuts: places });
      }),
      tries(40),
    );
  },
  "shapes that broke others are faults": async (subject) => {
    const deep = `${"[".repeat(5000)}${"]".repeat(5000)}`;
    for (const body of [
      '{"data":[null]}',
      '{"data":[null,null],"usage":"many"}',
      '{"data":[{"index":0.5,"embedding":[1]},{"index":1,"embedding":[1]}]}',
      '{"data":[{"index":"0","embedding":[1]},{"index":"1","embedding":[1]}]}',
      '{"data":[{"embedding":{"length":2}},{"embedding":[1]}]}',
      '{"data":[[1,2],[3,4]]}',
      '{"data":{"length":2}}',
      '{"data":"AAAA"}',
      '{"__proto__":{"data":[]},"data":[]}',
      '{"data":[{"__proto__":null},{"constructor":1}]}',
      `{"data":${deep}}`,
      '[{"embedding":[1]}]',
      "\ufeff",
      "NaN",
    ]) {
      const query = question(2);
      const { adapter, target } = subject;
      const read = async () =>
        verifyEmbeddings(
          await adapter.embeddings!.fromUpstream(replyOf(body), query, target),
          query,
          undefined,
        );
      expect((await faultOf(read))?.fault, body.slice(0, 60)).toBe("upstream_invalid");
      await readAll(subject, body);
    }
  },
  "a byte order mark before the answer does no harm, and goes no further": async (subject) => {
    const tokens = '"model":"public-model","usage":{"prompt_tokens":1,"total_tokens":1}';
    for (const as of ["float", "base64"] as const) {
      const entry = entryOf(asText(Float32Array.of(0.5, 1), as), 0);
      const query = question(1, as);
      for (const body of [answerOf([entry]), `{"object":"list","data":[${entry}],${tokens}}`]) {
        const { data } = await deliver(subject, `\ufeff${body}`, query);
        expect(data).toHaveLength(1);
        const { adapter, target } = subject;
        const reply = await adapter.embeddings!.fromUpstream(
          replyOf(`\ufeff${body}`),
          query,
          target,
        );
        if (reply.verbatim) expect(reply.verbatim.bytes[0]).toBe("{".charCodeAt(0));
      }
    }
  },
  "every failure is a fault of the table, in words, without the key": async ({
    adapter,
    target,
  }) => {
    const saying = fc.oneof(
      fc.uint8Array({ maxLength: 100 }),
      fc
        .record(
          {
            error: fc.oneof(
              anything,
              fc.record(
                {
                  message: fc.oneof(anything, fc.constant(`the key ${key} is wrong`)),
                  type: fc.oneof(anything, fc.constant(key)),
                  code: fc.oneof(anything, fc.constantFrom(key, "moderation_blocked", "slow_down")),
                  param: fc.oneof(anything, fc.constant(key)),
                },
                { requiredKeys: [] },
              ),
            ),
            message: fc.oneof(anything, fc.constant(`Bearer ${key}`)),
            detail: fc.oneof(anything, fc.array(fc.record({ loc: anything, msg: anything }))),
          },
          { requiredKeys: [] },
        )
        .map((body) => new TextEncoder().encode(JSON.stringify(body))),
    );
    const wait = fc.oneof(
      fc.constantFrom(
        "",
        "0",
        "7",
        "-1",
        "1e999",
        "1e300",
        "soon",
        "Tue, 15 Nov 2044 12:00:00 GMT",
      ),
      fc.string({ maxLength: 5 }).filter((value) => /^[\x20-\x7e]*$/.test(value)),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 300, max: 599 }),
        saying,
        wait,
        wait,
        async (status, body, seconds, ms) => {
          const headers = {
            "retry-after": seconds,
            "retry-after-ms": ms,
            date: new Date().toUTCString(),
          };
          const reply = replyOf(body, { status, headers });
          const error = await adapter.fault(reply, { target, model: "public-model" });
          expect(error).toBeInstanceOf(GatewayError);
          expect(Object.keys(faults)).toContain(error.fault);
          expect(error.fault).not.toBe("internal");
          expect(error.row.status).toBeWithin(400, 600);
          // Only the gateway's own key check may tell a caller that the key is wrong.
          expect(error.row.status).not.toBe(401);
          expect(error.message).not.toBe("");
          expect(JSON.stringify(error.body)).not.toContain(key);
          const { retryAfterMs } = error.details;
          if (retryAfterMs !== undefined) expect(retryAfterMs).toBeWithin(0, 86_400_001);
        },
      ),
      tries(40),
    );
  },
};

obey(subjects, laws);
