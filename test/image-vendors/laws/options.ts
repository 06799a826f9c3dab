/** Laws: no requested option is lost without being reported. */
import { expect } from "bun:test";
import { adapters } from "../../../server/upstream/adapters/index.ts";
import { promptMember } from "../golden.ts";
import type { FakeVendor, ParsedRequest } from "../image-vendor.ts";
import type { LawContext, Operation } from "../law-gateway.ts";
import { expectRefusal, expectSuccess, sendRequest, type VendorOutcome } from "../send-request.ts";
import { expectConsistent, imagesIn, namesIn } from "./expect-response.ts";
import type { ImageLaws } from "./law.ts";

const testedOptions = [
  ["style", "vivid"],
  ["background", "transparent"],
  ["quality", "high"],
  ["moderation", "low"],
] as const;

/**
 * Equal for the models of one adapter. test/laws/image-plans.test.ts has the values of every model and operation, and
 * image-plans-wire.test.ts the requests with them.
 */
const sameAdapter = ({ kind }: FakeVendor): string => kind;

interface OptionOutcome {
  readonly name: (typeof testedOptions)[number][0];
  readonly outcome: VendorOutcome;
  /** Undefined where the vendor accepted no request. */
  readonly parsed: ParsedRequest | undefined;
  /** The vendor got a request. */
  readonly reachedVendor: boolean;
  /** Reported in a response header. */
  readonly isReported: boolean;
}

/** Each option in its own request, concurrently. The prompts identify the requests. */
const requestEach = (context: LawContext, operation: Operation): Promise<OptionOutcome[]> =>
  Promise.all(
    testedOptions.map(async ([name, value]) => {
      const prompt = `an otter with ${name}`;
      const outcome = await sendRequest(context, operation, { prompt, [name]: value });
      const parsed = context.fake.generator.requests.find((request) => request.prompt === prompt);
      const reachedVendor = context.fake.exchanges.some(({ request }) =>
        holds(request.body, prompt),
      );
      const headers = ["vexel-adapted", "vexel-dropped"];
      return {
        name,
        outcome,
        parsed,
        reachedVendor,
        isReported: headers.some((header) => namesIn(outcome, header).includes(name)),
      };
    }),
  );

const holds = (body: Uint8Array, text: string): boolean => Buffer.from(body).includes(text);

const reachedAsOption = ({ parsed, name }: OptionOutcome): boolean =>
  parsed?.options?.[name] !== undefined;

function expectRefusedByName(context: LawContext, { outcome, name }: OptionOutcome): void {
  const { error, status } = expectRefusal(context, outcome);
  expect(status, error.message).toBe(400);
  expect(error.param, error.message).toBe(name);
}

export const options: ImageLaws = {
  "an option is sent to the vendor, or emulated, or refused by its name": {
    about: "vendor",
    alike: sameAdapter,
    holds: async (context, operation) => {
      for (const result of await requestEach(context, operation)) {
        if (result.outcome.status === 200) {
          expect(reachedAsOption(result) || result.isReported, `${result.name} was lost`).toBe(
            true,
          );
          continue;
        }
        expectRefusedByName(context, result);
        // Only for an option without declared capabilities may the vendor decide.
        const isDeclared = context.capabilities(operation).takes[result.name] !== "any";
        if (isDeclared)
          expect(
            result.reachedVendor,
            `${result.name}: the vendor got a request that cannot succeed`,
          ).toBe(false);
      }
    },
  },

  "extra fields are passed through or reported as dropped": {
    alike: promptMember,
    holds: async (context, operation) => {
      const seed = 4_242_421;
      const outcome = await sendRequest(context, operation, { seed });
      const reachedVendor = context.fake.exchanges.some(({ request: { path, body } }) =>
        `${path}\n${Buffer.from(body).toString("latin1")}`.includes(String(seed)),
      );
      if (!reachedVendor) expect(namesIn(outcome, "vexel-dropped")).toContain("seed");
      // A vendor without this field may refuse it.
      if (outcome.status !== 200) expect(expectRefusal(context, outcome).status).toBeLessThan(500);
    },
  },

  "an unknown model name is sent to the vendor, which generates the image or refuses the model": {
    // The name of the vendor's own model is not used.
    alike: ({ kind, config }, operation) => JSON.stringify([kind, config, operation]),
    holds: async (context, operation) => {
      const requestOptions = { role: "new-model", response_format: "b64_json" } as const;
      const outcome = await sendRequest(context, operation, requestOptions);
      // Where the vendor would replace the model, its list of models decides, which may be cached.
      const isListed = adapters.get(context.vendor.kind)?.[operation]?.models !== undefined;
      if (isListed) expect(outcome.status).toBe(404);
      else expect(context.fake.exchanges.length, outcome.text.slice(0, 300)).toBeGreaterThan(0);
      if (outcome.status === 200) {
        const response = expectSuccess(outcome);
        expectConsistent(response, imagesIn(response));
      } else expectRefusal(context, outcome);
    },
  },
};
