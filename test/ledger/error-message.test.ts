/** The error message that the client got, and the configured model, in the ledger row of a failed request. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { showRequestDetail } from "../../server/admin/reads/show-request.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { recordedMessage } from "../../server/request/recorded-message.ts";
import { startFake } from "../fake-upstream.ts";
import { configFor, startGateway, type TestGateway } from "../harness.ts";

const fake = startFake();
let gateway: TestGateway;
beforeAll(() => {
  gateway = startGateway({ yaml: configFor(fake.url) });
});
afterAll(async () => {
  await gateway.close();
  fake.close();
});

async function failed(path: string, body: unknown) {
  const response = await gateway.post(path, body);
  const { error } = (await response.json()) as { error: { message: string } };
  const id = response.headers.get("x-request-id");
  const row = gateway.rows().find(({ requestId }) => requestId === id)!;
  expect(row.status).toBe(response.status);
  return { message: error.message, row };
}

const form = (fields: Readonly<Record<string, string>>): FormData => {
  const data = new FormData();
  for (const [name, value] of Object.entries(fields)) data.append(name, value);
  return data;
};

const shownTo = { contentExpiresAt: undefined, isAdministrator: false };

test.each([
  ["/v1/embeddings", { model: "embedding-model", input: [] }],
  ["/v1/embeddings", { model: "embedding-model", input: "a", dimensions: -1 }],
  ["/v1/embeddings", { model: "embedding-model", input: "a", encoding_format: "int7" }],
  ["/v1/engines/embedding-model/embeddings", { input: 7 }],
  ["/v1/images/generations", { model: "image-model", prompt: "a boat", n: 0 }],
  ["/v1/images/generations", { model: "image-model", prompt: "a boat", size: "nine" }],
  ["/v1/images/edits", { model: "image-model", prompt: "a boat", images: [] }],
  ["/v1/images/edits", { model: "image-model", prompt: "a boat", image: "x" }],
  ["/v1/images/edits", form({ model: "image-model", prompt: "a boat" })],
])(
  "a refused request of %s %j has the client's message and its model in the ledger",
  async (path, body) => {
    const { message, row } = await failed(path, body);
    expect(row.errorMessage).toBe(message);
    const model = path.includes("images") ? "image-model" : "embedding-model";
    expect(row.model).toBe(model);
    expect(showRequestDetail(row, null, shownTo)).toMatchObject({
      error_message: message,
      model,
    });
  },
);

test("an error of the upstream has the client's message in the ledger", async () => {
  fake.script({ fail: "server-error" }, { times: 10 });
  const { message, row } = await failed("/v1/embeddings", { model: "embedding-model", input: "a" });
  fake.script({});
  expect([row.errorMessage, row.upstream]).toEqual([message, "fake"]);
});

test("the id of a model that does not exist is in the ledger row, so that the operator sees the typo", async () => {
  for (const model of ["text-embeding-3-small", "Qwen/Qwen3-Embedding-8B", "acme/clip:v1.5"]) {
    const { message, row } = await failed("/v1/embeddings", { model, input: "a" });
    expect(row.model).toBeNull();
    expect(row.errorMessage).toBe(message);
  }
});

test("what cannot be the id of a model is in no ledger row, because it may be a key or a prompt", async () => {
  const values = [
    "sk-private-0123456789",
    "a `quoted` secret\nin two lines",
    "privateAIzaSyD4f7h2k9",
    "private-123e4567-e89b-12d3-a456-426614174000",
    "private".repeat(12),
  ];
  for (const model of values) {
    const { message, row } = await failed("/v1/embeddings", { model, input: "a" });
    expect(message).toContain(model);
    expect(row.model).toBeNull();
    expect(row.errorMessage).toStartWith(
      "The model `…` does not exist or you do not have access to it. This API key may use: ",
    );
    expect(row.errorMessage).not.toContain("private");
    expect(row.errorMessage).not.toContain("quoted");
  }
});

test("the recorded message is bounded, and has no quoted text of the client", () => {
  const recorded = (text: string) => recordedMessage(new GatewayError("invalid_value", text), true);
  const prompt = "a harbor at dawn, and it's my grandmother's house behind it, painted in oil";
  for (const value of [prompt, "Ada", "sk-0123456789", "x".repeat(41), "first\nsecond"]) {
    expect(recorded(`Refused: "${value}". Send 'auto'.`)).toBe(`Refused: "…". Send 'auto'.`);
    // A vendor's message may be cut within the quote.
    expect(recorded(`Refused: \`${value}`)).toBe("Refused: `…`");
  }
  const vendors = new GatewayError(
    "upstream_error",
    "Unknown argument: Api-KEY-of-Ada. (See 'docs', the JSON body, or URLs.) It's maximum 8192 tokens.",
    { upstream: { status: 400 } },
  );
  expect(recordedMessage(vendors, true)).toBe(
    "Unknown argument: … (See 'docs', the JSON body, or URLs.) It's maximum 8192 tokens.",
  );
  expect(recorded("x".repeat(5000))).toHaveLength(300);
  const plain =
    "The upstream's rate limit is reached, and the gateway's own queue for this model's requests is full.";
  expect(recorded(plain)).toBe(plain);
  expect(recordedMessage(new GatewayError("client_closed", "gone"), true)).toBeNull();
});
