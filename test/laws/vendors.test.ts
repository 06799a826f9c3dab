/**
 * Laws over every embeddings vendor: it understands the upstream request, and only valid responses reach the client.
 */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { imageRefusal } from "../../server/embeddings/multimodal/image-refusal.ts";
import { EncodedVector } from "../../server/lib/vector-codec/float32-base64.ts";
import { verifyEmbeddings } from "../../server/pipeline/verify-response.ts";
import type { UpstreamRequest } from "../../server/upstream/adapter.ts";
import { vendors } from "../../server/upstream/adapters/index.ts";
import type { InputPart, Vector } from "../../server/upstream/contract.ts";
import { parseTaskType, vendorTaskType } from "../../server/upstream/task-type.ts";
import { tries } from "../depth.ts";
import { vendorCases } from "../embedding-vendors/index.ts";
import { contentOf, imagePart, withTextBody } from "../embedding-vendors/input-images.ts";
import { upstreamResponseOf } from "./adapter-cases.ts";
import { bits, errorKindOf, matrices } from "./adapter-responses.ts";
import { type Exceptions, type Law, obey } from "./law.ts";
import { quantize, quantizedTypes, sendFor } from "./output-types.ts";
import {
  everyText,
  mixedInput,
  mutated,
  plainQuery,
  queriesWithin,
  readResponse,
  secretsOf,
  type VendorSubject,
  vendorSubjects,
} from "./vendor-requests.ts";

const runs = tries(25);
const now = Date.parse("2026-01-01T00:00:00Z");

test("every vendor with embeddings has a case, and every case has a unique name", () => {
  const kindsWithCase = new Set(vendorCases.map(({ target }) => target.upstream.kind));
  const silent = vendors.filter(
    ({ kind, adapter }) => adapter.embeddings && !kindsWithCase.has(kind.name),
  );
  expect(silent.map(({ kind }) => kind.name)).toEqual([]);
  expect(vendorSubjects.size).toBe(vendorCases.length);
});

const bitsOf = (vector: Vector): string =>
  typeof vector === "string" || vector instanceof EncodedVector
    ? Buffer.from(String(vector), "base64").toString("hex")
    : bits(vector);

/** As sent, with the authorization that `sign` adds. */
const signed = ({ adapter, vendor }: VendorSubject, request: UpstreamRequest): UpstreamRequest =>
  adapter.sign?.(request, vendor.target.upstream, now) ?? request;

const hostOf = ({ endpoint, vendor }: VendorSubject): string =>
  new URL(endpoint.toUpstream(plainQuery(1), vendor.target).url).host;

const kindsWithImages = new Set(
  [...vendorSubjects.values()]
    .filter(({ capabilities }) => capabilities.images)
    .map(({ vendor }) => vendor.target.upstream.kind),
);

/** `test/embedding-vendors/sdks/` runs their SDKs. */
const withSdk: ReadonlySet<string> = new Set(["cohere", "voyage", "gemini"]);

/** Where a text or the bytes of an image begin, in base64 or as they are. */
async function positionOf(part: InputPart, body: string, from: number): Promise<number> {
  if (part.kind === "text") return body.indexOf(part.text, from);
  if (part.kind !== "image") throw new Error("the image is not loaded");
  const bytes = Buffer.from(await part.image.file.bytes());
  const forms = [bytes.toString("base64"), bytes.toString("latin1")];
  return Math.max(...forms.map((form) => body.indexOf(form, from)));
}

/** The adapters that have got a response with a hundred thousand levels. */
const deeplyNested = new Set<unknown>();

const laws: Readonly<Record<string, Law<VendorSubject>>> = {
  "the vendor understands the request: every input in order, the dimensions, the task type": ({
    endpoint,
    vendor,
    capabilities,
  }) => {
    // Where the vendor requires a task type, it is the same one whenever the client sends none.
    const { target, understand } = vendor;
    const usual = understand(endpoint.toUpstream(plainQuery(1), target), target).taskType;
    const { taskTypes } = capabilities;
    fc.assert(
      fc.property(queriesWithin(capabilities), (query) => {
        const { input, dimensions, taskType } = query;
        const expected =
          taskType && typeof taskTypes === "object"
            ? vendorTaskType(taskType, taskTypes)
            : taskType?.given;
        const understood = understand(endpoint.toUpstream(query, target), target);
        expect<unknown>({ ...understood, taskType: understood.taskType }).toEqual({
          input,
          encoding: capabilities.base64 ? "base64" : "float",
          ...(dimensions !== undefined && { dimensions }),
          taskType: taskType ? expected : usual,
        });
      }),
      runs,
    );
  },
  "a second attempt sends the same as the first": ({ endpoint, vendor, capabilities }) => {
    fc.assert(
      fc.property(queriesWithin(capabilities), (query) => {
        const build = () => endpoint.toUpstream(query, vendor.target);
        expect(build()).toEqual(build());
      }),
      runs,
    );
  },
  "unknown fields are passed on": ({ endpoint, vendor }) => {
    const query = { ...plainQuery(1), extraFields: { otters: "marker-0123456789" } };
    expect(endpoint.toUpstream(query, vendor.target).body).toContain("marker-0123456789");
  },
  "headers of the configuration are sent, in any letter case": ({ endpoint, vendor }) => {
    const upstream = { ...vendor.target.upstream, headers: { "X-Team": "otters" } };
    const { headers } = endpoint.toUpstream(plainQuery(1), { ...vendor.target, upstream });
    expect(headers["x-team"]).toBe("otters");
    expect(Object.keys(headers).filter((name) => name !== name.toLowerCase())).toEqual([]);
  },
  "the API key is in headers and nowhere else, and a signing secret is not sent at all": (
    subject,
  ) => {
    const { endpoint, vendor, capabilities } = subject;
    const { apiKey } = vendor.target.upstream;
    fc.assert(
      fc.property(queriesWithin(capabilities), (query) => {
        const { url, headers, body } = signed(subject, endpoint.toUpstream(query, vendor.target));
        const inHeaders = JSON.stringify(headers);
        if (apiKey !== undefined) expect(inHeaders).toContain(apiKey);
        for (const secret of secretsOf(vendor.target)) expect(body).not.toContain(secret);
        for (const secret of [apiKey, ...signingOnly(subject)])
          if (secret !== undefined) expect(url).not.toContain(secret);
        for (const secret of signingOnly(subject)) expect(inHeaders).not.toContain(secret);
      }),
      tries(10),
    );
  },
  "every URL is below the vendor's base URL, whatever the model's name": (subject) => {
    const { endpoint, vendor } = subject;
    const host = hostOf(subject);
    for (const model of ["a", "a/b", "../../admin", "a?b=c", "a#b", "%2e%2e", "ü b", "a:0"]) {
      const { upstream } = vendor.target;
      // Where the model name would have to contain more, an option of the upstream has it.
      const reported =
        upstream.kind === "bedrock" ? { family: "titan", ...upstream.options } : upstream.options;
      const target = { upstream: { ...upstream, options: reported }, model };
      const url = new URL(endpoint.toUpstream(plainQuery(1), target).url);
      expect([url.host, url.hash, url.username]).toEqual([host, "", ""]);
      expect(url.pathname).not.toContain("/admin");
      expect(url.searchParams.has("b")).toBe(false);
    }
  },
  "its capabilities are consistent": ({ capabilities, endpoint, vendor }) => {
    const { maxItems, maxTokens = 1, maxBytes = 1, dimensions, taskTypes } = capabilities;
    for (const limit of [maxItems, maxTokens, maxBytes]) {
      expect(Number.isSafeInteger(limit) && limit >= 1, `${limit} is no limit`).toBe(true);
    }
    if (typeof dimensions === "object") {
      expect(dimensions.length).toBeGreaterThan(0);
      expect(dimensions.every((length) => Number.isSafeInteger(length) && length > 0)).toBe(true);
      expect([...dimensions]).toEqual(dimensions.toSorted((a, b) => a - b));
    }
    if (typeof taskTypes === "object") {
      for (const word of [...Object.values(taskTypes.values), ...(taskTypes.otherValues ?? [])]) {
        expect(vendorTaskType(parseTaskType("task_type", word), taskTypes)).toBe(word);
      }
    }
    const { images } = capabilities;
    if (images) {
      expect(images.types.some((type) => /^image\/(png|jpeg)$/.test(type))).toBe(true);
      const { types: _, fuses: __, isAssumed: ___, ...limits } = images;
      for (const limit of Object.values(limits))
        expect(Number.isSafeInteger(limit) && limit >= 1, `${limit} is no limit`).toBe(true);
    }
    expect(endpoint.capabilities(vendor.target)).toEqual(capabilities);
  },
  "an entry with images is sent whole, its parts in order and every image as its bytes": async (
    subject,
  ) => {
    const { endpoint, vendor, capabilities } = subject;
    if (!capabilities.images) {
      // Other models of the same kind may read images: the stages refuse the entry then.
      if (kindsWithImages.has(vendor.target.upstream.kind)) return;
      const image = imagePart(Buffer.from("an image"));
      const input = { kind: "mixed", entries: [{ parts: [image] }] } as const;
      expect(() => endpoint.toUpstream({ ...plainQuery(1), input }, vendor.target)).toThrow();
      return;
    }
    const input = mixedInput(capabilities, 4);
    const build = () =>
      withTextBody(endpoint.toUpstream({ ...plainQuery(1), input }, vendor.target));
    const { body } = await build();
    // Every retry sends the same bytes.
    if (!String(body).startsWith("--")) expect((await build()).body).toBe(body!);
    let from = 0;
    for (const part of input.entries.flatMap(({ parts }) => parts)) {
      const at = await positionOf(part, String(body), from);
      expect(at, `${part.kind} after ${from} of ${String(body).slice(0, 2000)}`).toBeGreaterThan(
        from,
      );
      from = at;
    }
    for (const secret of secretsOf(vendor.target)) expect(body).not.toContain(secret);
  },
  "a text with an image gives one vector of both, or is refused by name": async (subject) => {
    const { endpoint, vendor, capabilities } = subject;
    if (!capabilities.images) return;
    const text: InputPart = { kind: "text", text: "a red boat" };
    const image = imagePart(Buffer.from("an image"), capabilities.images.types[0]);
    for (const parts of [
      [text, image],
      [image, text],
    ]) {
      const input = { kind: "mixed", entries: [{ parts }] } as const;
      const refusal = imageRefusal({ model: "public-model" }, input, capabilities);
      expect([refusal?.kind, refusal?.message.includes("`public-model`")]).toEqual(
        capabilities.images.fuses ? [undefined, undefined] : ["invalid_input", true],
      );
      if (refusal) continue;
      const query = { ...plainQuery(1), input };
      const { body } = await withTextBody(endpoint.toUpstream(query, vendor.target));
      for (const part of parts)
        expect(await positionOf(part, String(body), 0), part.kind).toBeGreaterThan(0);
      const row = Float32Array.of(1, 0.5);
      const response = (vendor.imageResponse ?? vendor.response)([row], 3);
      const { vectors } = await readResponse(subject, response, 1, input);
      expect(vectors.map(bitsOf)).toEqual([bits(row)]);
    }
  },
  "the output type of images is requested as that of texts": async ({
    endpoint,
    vendor,
    capabilities,
  }) => {
    const { images, outputTypes } = capabilities;
    if (!images || !outputTypes) return;
    for (const type of outputTypes.types) {
      const query = { ...plainQuery(1), outputType: { type, field: "output_dtype" } };
      const input = mixedInput(capabilities, 1);
      const [ofTexts, ofImages] = await Promise.all(
        [query, { ...query, input }].map(async (one) => {
          const { body } = await withTextBody(endpoint.toUpstream(one, vendor.target));
          return JSON.parse(String(body))[outputTypes.field];
        }),
      );
      expect(ofImages).toBeDefined();
      expect(ofImages).toEqual(ofTexts);
    }
  },
  "the fakes that the vendors' SDKs are run against understand every part of every entry": async ({
    endpoint,
    vendor,
    capabilities,
  }) => {
    if (!capabilities.images || !withSdk.has(vendor.target.upstream.kind)) return;
    const input = mixedInput(capabilities, 4);
    const request = endpoint.toUpstream({ ...plainQuery(1), input }, vendor.target);
    const understood = vendor.understand(await withTextBody(request), vendor.target);
    expect(contentOf(understood.input)).toEqual(contentOf(input));
  },
  "vectors of images are in the order of their entries": async (subject) => {
    const { capabilities, vendor } = subject;
    if (!capabilities.images) return;
    const input = mixedInput(capabilities, 4);
    const rows = input.entries.map((_, at) => Float32Array.of(at + 1, 0.5));
    const response = (vendor.imageResponse ?? vendor.response)(rows, 3);
    const { vectors } = await readResponse(subject, response, rows.length, input);
    expect(vectors.map(bitsOf)).toEqual(rows.map(bits));
  },
  "a response with a deeply nested field is parsed, or refused as an upstream error": async (
    subject,
  ) => {
    const { vendor, adapter } = subject;
    const { body, ...response } = vendor.response([Float32Array.of(1, 2)], 3);
    // The models of one adapter are read by the same code: the first of them gets as many levels as end a naive parser.
    const levels = deeplyNested.has(adapter) ? 2000 : 100_000;
    deeplyNested.add(adapter);
    const deep = "[".repeat(levels) + "]".repeat(levels);
    const beside = body.replace(/^\s*\{/, `{"x_trace":${deep},`);
    const read = await errorKindOf(() => readResponse(subject, { ...response, body: beside }, 1));
    expect(["upstream_invalid", undefined]).toContain(read?.kind);
    for (const garbage of [deep, "[".repeat(levels)]) {
      const error = await errorKindOf(() =>
        readResponse(subject, { ...response, body: garbage }, 1),
      );
      expect(error?.kind).toBe("upstream_invalid");
      const context = { target: vendor.target, model: "m" };
      const refused = await adapter.readError(
        upstreamResponseOf(garbage, { status: 500 }),
        context,
      );
      expect(refused.kind).toStartWith("upstream_");
    }
  },
  "vectors are in the order of their inputs, exact to the last bit": async (subject) => {
    await fc.assert(
      fc.asyncProperty(matrices(Math.min(subject.capabilities.maxItems, 6)), async (rows) => {
        const { vectors } = await readResponse(
          subject,
          subject.vendor.response(rows, 3),
          rows.length,
        );
        expect(vectors.map(bitsOf)).toEqual(rows.map(bits));
      }),
      runs,
    );
  },
  "each output type is made by the vendor, computed from float32 vectors, or refused by name":
    async (subject) => {
      const { vendor, capabilities } = subject;
      const types = capabilities.outputTypes?.types ?? [];
      expect(vendor.quantized !== undefined).toBe(types.length > 0);
      const rows = [0.5, -0.25]
        .slice(0, capabilities.maxItems)
        .map((first) => Float32Array.from({ length: 16 }, (_, at) => first * Math.cos(at * at)));
      for (const type of quantizedTypes) {
        const isBits = type === "binary" || type === "ubinary";
        const made = type === "binary" ? "ubinary" : type;
        const isMade = types.some((own) => own === made);
        if (!isMade && !isBits) {
          const error = await errorKindOf(() => sendFor(subject, type, rows));
          expect([error?.kind, error?.details.param]).toEqual(["invalid_value", "output_dtype"]);
          expect(error?.message).toContain(type);
          continue;
        }
        const { understood, response } = await sendFor(subject, type, rows);
        // Perplexity makes int8 in every request for float32.
        const isNamed = vendor.target.upstream.kind !== "perplexity" || isBits;
        expect(understood.map(({ outputType }) => outputType)).toEqual([
          isMade && isNamed ? made : undefined,
        ]);
        if (vendor.target.upstream.kind !== "perplexity")
          expect<readonly unknown[]>(response.vectors).toEqual(
            rows.map((row) => quantize(row, type)),
          );
        expect(response.deviations?.adapted ?? []).toEqual(isMade ? [] : ["output_dtype"]);
      }
    },
  "a quantized vector that is out of range, of another length or not of integers is an error":
    async (subject) => {
      const { vendor, capabilities, endpoint } = subject;
      for (const type of capabilities.outputTypes?.types ?? []) {
        const { body } = vendor.quantized!([new Uint8Array(16).fill(73)], type);
        const query = { ...plainQuery(1), dimensions: 128, outputType: { type, field: "t" } };
        for (const odd of ["256", "-129", "0.5", '"1"', "null", "[]", "73,73"]) {
          const text = body.replace("[73,", `[${odd},`);
          if (text === body) continue;
          const read = async () =>
            verifyEmbeddings(
              await endpoint.fromUpstream(upstreamResponseOf(text), query, vendor.target),
              query,
              undefined,
            );
          expect((await errorKindOf(read))?.kind, `${type} ${odd}`).toBe("upstream_invalid");
        }
      }
    },
  "usage is the vendor's count, 0 included, or absent": async (subject) => {
    const { response, tellsUsage } = subject.vendor;
    const row = [Float32Array.of(0.25, -1)];
    for (const tokens of [0, 1, 4711, undefined]) {
      const { usage } = await readResponse(subject, response(row, tokens), 1);
      expect(usage?.inputTokens).toBe(tellsUsage ? tokens : undefined);
    }
    const { headers = {}, body } = response(row, 987_654);
    for (const odd of ["-1", "null", '"many"', "1.5", "[]", "1e400"]) {
      const lying = JSON.parse(
        JSON.stringify(headers).replaceAll("987654", JSON.stringify(odd).slice(1, -1)),
      );
      const upstreamResponse = readResponse(
        subject,
        { headers: lying, body: body.replaceAll("987654", odd) },
        1,
      );
      expect((await upstreamResponse).usage).toBeUndefined();
    }
  },
  "a response has a vector for each input, or is an error": async (subject) => {
    const { vendor, capabilities } = subject;
    const row = (at: number) => Float32Array.of(at + 1, 0.5);
    for (const [requested, got] of [
      [1, 0],
      [2, 1],
      [2, 3],
      [3, 0],
    ] as const) {
      if (requested > capabilities.maxItems) continue;
      const invalidResponse = vendor.response(
        Array.from({ length: got }, (_, at) => row(at)),
        3,
      );
      const error = await errorKindOf(() => readResponse(subject, invalidResponse, requested));
      expect(error?.kind, `${got} for ${requested}`).toBe("upstream_invalid");
    }
  },
  "a body that is not a response is an error": async (subject) => {
    const { headers, body } = subject.vendor.response([Float32Array.of(0.5, 1)], 3);
    for (const broken of [
      "",
      " ",
      "null",
      "0",
      '""',
      "[]",
      "{}",
      "[null]",
      "\ufeff",
      "NaN",
      "{}{}",
      "undefined",
      "<!DOCTYPE html><html><body>502 Bad Gateway</body></html>",
      ...[1, 2, 3, 5, 8].map((part) => body.slice(0, Math.floor((body.length * part) / 9))),
      body.slice(1),
      `${body}x`,
    ]) {
      const options = { ...(headers && { headers }), body: broken };
      const error = await errorKindOf(() => readResponse(subject, options, 1));
      expect(error?.kind, broken.slice(0, 60)).toBe("upstream_invalid");
    }
  },
  "a response that is corrupted at one point is an error, or has the same vectors": async (
    subject,
  ) => {
    const count = Math.min(subject.capabilities.maxItems, 2);
    const rows = [Float32Array.of(0.5, 1), Float32Array.of(-1, 0.25)].slice(0, count);
    const { headers, body } = subject.vendor.response(rows, 3);
    for (const odd of [null, true, -1, "", "x", [], {}, [null], { values: "AAAA" }, [[]]]) {
      for (const text of mutated(body, odd)) {
        const options = { ...(headers && { headers }), body: text };
        const error = await errorKindOf(() => readResponse(subject, options, count));
        // A corrupted response may also say that a text was truncated, which the request did not allow.
        const truncation = text.includes('"truncated":true') ? ["context_length_exceeded"] : [];
        if (error) expect(["upstream_invalid", ...truncation], text).toContain(error.kind);
      }
    }
  },
  "every refusal is mapped to its error, and reveals nothing of the operator": async (subject) => {
    const { adapter, vendor } = subject;
    const context = { target: vendor.target, model: "public-model" };
    // A secret that is not sent cannot be returned.
    const kept = signingOnly(subject);
    const known = secretsOf(vendor.target).filter((secret) => !kept.includes(secret));
    const hidden = [...known, hostOf(subject)];
    for (const { status = 400, headers = {}, body, error: expectedKind } of vendor.refusals) {
      const read = async (text: string) =>
        adapter.readError(upstreamResponseOf(text, { status, headers }), context);
      const error = await read(body);
      expect(error.kind, body).toBe(expectedKind);
      const poisoned = body.startsWith("{")
        ? await read(
            everyText(body, (text) => `${text} ${hidden.join(" ")} https://${hidden.at(-1)}/x`),
          )
        : error;
      for (const secret of hidden) {
        expect(JSON.stringify(error.body)).not.toContain(secret);
        expect(JSON.stringify(poisoned.body)).not.toContain(secret);
      }
      expect(error.message).not.toBe("");
      expect(error.definition.status).not.toBe(401);
    }
  },
  "the retry delay is passed on": async ({ adapter, vendor }) => {
    const context = { target: vendor.target, model: "public-model" };
    for (const { status = 400, headers = {}, body } of vendor.refusals) {
      const response = upstreamResponseOf(body, {
        status,
        headers: { ...headers, "retry-after": "7" },
      });
      expect((await adapter.readError(response, context)).details.retryAfterMs, body).toBe(7000);
    }
  },
};

/** Secrets that are not sent: only their signatures, or the tokens they are exchanged for, are sent. */
function signingOnly({ vendor }: VendorSubject): string[] {
  const { secretAccessKey, serviceAccount } = vendor.target.upstream.options as {
    readonly secretAccessKey?: string;
    readonly serviceAccount?: { readonly private_key: string };
  };
  return [secretAccessKey, serviceAccount?.private_key].filter((secret) => secret !== undefined);
}

const ofBytes = {
  "vectors are in the order of their inputs, exact to the last bit":
    "each of its numbers is one signed byte",
};
const exceptions: Exceptions = {
  perplexity: ofBytes,
  "perplexity, chunks in context": ofBytes,
};
obey(vendorSubjects, laws, exceptions);
