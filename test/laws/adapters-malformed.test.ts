/** Adapter laws for malformed responses: adapters throw only gateway errors. */

import { expect } from "bun:test";
import fc from "fast-check";
import { errorTable } from "../../contract/errors.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { verifyEmbeddings } from "../../server/pipeline/verify-response.ts";
import { tries } from "../depth.ts";
import { anything, key, type Subject, subjects, upstreamResponseOf } from "./adapter-cases.ts";
import {
  cuts,
  embeddingsQuery,
  errorKindOf,
  eventStream,
  malformedResponses,
  oddEvents,
  readAll,
} from "./adapter-responses.ts";
import { type Law, obey } from "./law.ts";

const runs = tries(20);

const laws: Readonly<Record<string, Law<Subject>>> = {
  "any bytes cause only gateway errors": async (subject) => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.uint8Array({ maxLength: 200 }),
          fc.string().map((s) => new TextEncoder().encode(s)),
        ),
        cuts,
        async (bytes, offsets) => {
          await readAll(subject, bytes);
          await readAll(subject, bytes, { headers: eventStream, cuts: offsets });
        },
      ),
      runs,
    );
  },
  "any JSON causes only gateway errors": async (subject) => {
    await fc.assert(
      fc.asyncProperty(malformedResponses, async (response) =>
        readAll(subject, JSON.stringify(response)),
      ),
      tries(60),
    );
  },
  "any broken JSON causes only gateway errors": async (subject) => {
    await fc.assert(
      fc.asyncProperty(
        malformedResponses,
        fc.nat(),
        fc.string({ maxLength: 3 }),
        async (response, at, noise) => {
          const text = JSON.stringify(response);
          const offset = at % (text.length + 1);
          await readAll(subject, text.slice(0, offset) + noise + text.slice(offset + 1));
        },
      ),
      runs,
    );
  },
  "any stream events cause only gateway errors": async (subject) => {
    await fc.assert(
      fc.asyncProperty(fc.array(oddEvents, { maxLength: 4 }), cuts, async (events, offsets) => {
        const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
        await readAll(subject, body, { headers: eventStream, cuts: offsets });
      }),
      tries(40),
    );
  },
  "shapes that broke other gateways cause gateway errors": async (subject) => {
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
      const query = embeddingsQuery(2);
      const { adapter, target } = subject;
      const read = async () =>
        verifyEmbeddings(
          await adapter.embeddings!.fromUpstream(upstreamResponseOf(body), query, target),
          query,
          undefined,
        );
      expect((await errorKindOf(read))?.kind, body.slice(0, 60)).toBe("upstream_invalid");
      await readAll(subject, body);
    }
  },
  "an error code of any type causes a gateway error": async ({ adapter, target }) => {
    for (const code of [{ toString: "" }, [{ valueOf: 1 }], "constructor", "__proto__", null, 7]) {
      const codes = { code, error_code: code, failure_code: code, status: code, __type: code };
      const body = JSON.stringify({
        ...codes,
        error: { ...codes, message: "refused", details: [{ reason: code, retryDelay: code }] },
        errors: [codes],
        base_resp: { status_code: code },
      });
      const response = upstreamResponseOf(body, { status: 400 });
      const error = await adapter.readError(response, { target, model: "public-model" });
      expect(Object.keys(errorTable), body).toContain(error.kind);
    }
  },
  "every failure is an error of the table, with a message, without the API key": async ({
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
          const response = upstreamResponseOf(body, { status, headers });
          const error = await adapter.readError(response, { target, model: "public-model" });
          expect(error).toBeInstanceOf(GatewayError);
          expect(Object.keys(errorTable)).toContain(error.kind);
          expect(error.kind).not.toBe("internal");
          expect(error.definition.status).toBeWithin(400, 600);
          // Only the gateway's own key check may respond that the client's key is wrong.
          expect(error.definition.status).not.toBe(401);
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
