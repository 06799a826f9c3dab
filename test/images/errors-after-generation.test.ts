/**
 * Errors after the upstream has generated an image: the error says that the image may have been billed, and the
 * official SDK, with the retries that it has by default, does not generate it again.
 */
import { afterEach, describe, expect, spyOn, test } from "bun:test";
import OpenAI from "openai";
import { OutboxFile } from "../../server/storage/files/outbox.ts";
import { SqliteLedgerStore } from "../../server/storage/sqlite/ledger-store.ts";
import { MemoryBudget } from "../../server/temp-storage/request-temp.ts";
import { base64Of, grayImage } from "../conformance/arrange.ts";
import { testKey } from "../harness.ts";
import { startImageGateway } from "./image-gateway-fixture.ts";

let paid = 0;
let respond: () => Response;
const { gateway } = startImageGateway({
  model: "image",
  respond: () => {
    paid++;
    return respond();
  },
  yaml: (origin) => `
upstreams:
  - { id: fake, kind: openai, baseUrl: "${origin}/v1", apiKey: sk-fake }
  - { id: second, kind: openai, baseUrl: "${origin}/v1", apiKey: sk-fake }
models:
  - id: image
    kind: image
    targets: [{ upstream: fake, model: gpt-image-1 }, { upstream: second, model: gpt-image-1 }]
  - id: dall-e
    kind: image
    targets: [{ upstream: fake, model: dall-e-2 }, { upstream: second, model: dall-e-2 }]`,
  settings: {
    VEXEL_TEMP_STORAGE_BYTES: "1048576",
    VEXEL_DOWNLOAD_PRIVATE: "127.0.0.1:1",
  },
  maxResponseBytes: 8 * 1024 * 1024,
});
const client = new OpenAI({ baseURL: gateway.baseURL, apiKey: testKey });

const png = base64Of(grayImage("an otter"));
const large = (bytes: number): string =>
  base64Of(Buffer.concat([grayImage("an otter"), Buffer.alloc(bytes)]));
const deliver = (result: object) => () => Response.json({ created: 1, data: [result] });
/** No process listens on the port of a link. */
const deadLink = "http://127.0.0.1:1/x.png";

const restores: (() => void)[] = [];
afterEach(() => {
  for (const restore of restores.splice(0)) restore();
});

function failLedger(): void {
  const fail = (): never => {
    throw Object.assign(new Error("ENOSPC"), { code: "ENOSPC" });
  };
  const spies = [
    spyOn(OutboxFile.prototype, "append").mockImplementation(fail),
    spyOn(SqliteLedgerStore.prototype, "write").mockImplementation(fail),
  ];
  restores.push(...spies.map((spy) => () => spy.mockRestore()));
}

interface Failure {
  readonly name: string;
  readonly code: string;
  readonly respond: () => Response;
  readonly model?: string;
  readonly format?: "b64_json";
  /** The error is not one of the upstream's response itself, which keeps its message. */
  readonly isAfterResponse?: true;
}

const failures: readonly Failure[] = [
  {
    name: "the image finds no temp storage",
    isAfterResponse: true,
    code: "storage_unavailable",
    respond: () => {
      const spy = spyOn(MemoryBudget.prototype, "tryTake").mockReturnValue(false);
      restores.push(() => spy.mockRestore());
      return deliver({ b64_json: large(4 * 1024 * 1024) })();
    },
  },
  {
    name: "the response is too large",
    code: "upstream_invalid",
    respond: deliver({ b64_json: large(9 * 1024 * 1024) }),
  },
  {
    name: "the image behind a link is not reachable",
    isAfterResponse: true,
    code: "upstream_unreachable",
    model: "dall-e",
    format: "b64_json",
    respond: deliver({ url: deadLink }),
  },
  {
    name: "the response has no image",
    code: "upstream_invalid",
    respond: deliver({ b64_json: "bm90IGFuIGltYWdl" }),
  },
  // The last: afterwards the ledger needs time to recover.
  {
    name: "the ledger cannot be written",
    isAfterResponse: true,
    code: "ledger_unavailable",
    respond: () => {
      failLedger();
      return deliver({ b64_json: png })();
    },
  },
];

describe("the official SDK does not generate an image again when", () => {
  test.each(failures)("$name", async (failure) => {
    const { code, model = "image", format, isAfterResponse } = failure;
    gateway.resetTargets();
    paid = 0;
    respond = failure.respond;
    const error = await client.images
      .generate({ model, prompt: "x", ...(format && { response_format: format }) })
      .then(
        () => expect.unreachable(),
        (thrown: InstanceType<typeof OpenAI.APIError>) => thrown,
      );
    expect(error.code).toBe(code);
    expect(paid).toBe(1);
    if (isAfterResponse) expect(error.message).toContain("may have been generated and billed");
    expect(error.headers?.get("x-should-retry")).toBe("false");
    expect(error.headers?.get("retry-after")).toBeNull();
    expect(error.headers?.get("retry-after-ms")).toBeNull();
  });
});
