/** /upstreams/test and /upstreams/:id/test: connection tests of a draft and of an upstream in force. */

import { z } from "zod";
import { connectionTestSchema } from "../../../contract/admin/upstreams.ts";
import { type ConnectionTest, type DiscoveredModel, secretMask } from "../../../contract/admin.ts";
import { message } from "../../../contract/messages/message.ts";
import type { Translatable } from "../../../contract/messages/message-format.ts";
import { modelKinds } from "../../../contract/model-kinds.ts";
import { secretFieldsOf } from "../../config/entities/secret-fields.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { JsonObject } from "../../storage/sql/config-entity-store.ts";
import { guessModelKind } from "../../upstream/catalog/served-models.ts";
import type {
  ConnectionTestResult,
  TestConnectionOptions,
} from "../../upstream/connection-test/test-connection.ts";
import type { Upstream } from "../../upstream/contract.ts";
import { redactSecrets } from "../../upstream/redact-secrets.ts";
import type { AdminDependencies } from "../admin-dependencies.ts";
import { type AdminApiContext, type AdminRoute, senderOf } from "../admin-route.ts";
import { entityErrorToGatewayError, idOf } from "../entities/change-entities.ts";
import { notFound } from "../entities/entity-errors.ts";
import { readBody } from "../read-body.ts";

/** Each test takes seconds and several connections. */
const maxConcurrent = 8;

const storedBody = z.strictObject({
  mayCost: z.boolean().optional().describe("Permits one request that the vendor may bill."),
  model: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe("The upstream's name of the model for that request."),
  modelKind: z.enum(modelKinds).optional(),
});
const draftBody = storedBody.extend({
  upstream: z.looseObject({}).describe("As in POST /admin/api/upstreams."),
});

export function connectionTestRoutes({
  entities,
  snapshot,
  testConnection,
  sendTestRequest,
  audit,
}: AdminDependencies): readonly AdminRoute[] {
  let running = 0;

  const run = async (
    context: AdminApiContext,
    upstream: Upstream,
    request: z.output<typeof storedBody>,
  ): Promise<Response> => {
    const paidRequest = paidRequestFor(upstream, request, sendTestRequest);
    if (running >= maxConcurrent) {
      throw new GatewayError(
        "overloaded",
        message("too_many_connection_tests", { count: running }),
      );
    }
    running += 1;
    try {
      const result = await testConnection(upstream, { paidRequest });
      await audit.record({
        ...senderOf(context),
        action: "upstream.tested",
        subject: upstream.id,
        after: { credential: result.credential, may_have_cost: result.may_have_cost },
      });
      return context.json(shownTest(result, upstream));
    } finally {
      running -= 1;
    }
  };

  const testDraft = async (context: AdminApiContext): Promise<Response> => {
    const { upstream: given, ...request } = await readBody(context, draftBody);
    // A draft need not have an id yet.
    const id = typeof given.id === "string" && given.id !== "" ? given.id : "draft";
    return run(context, await draft(id, given), request);
  };

  const draft = async (id: string, given: JsonObject): Promise<Upstream> => {
    try {
      return await entities.draftUpstream(id, { ...given, id });
    } catch (error) {
      throw entityErrorToGatewayError(error, { kind: "upstream", id });
    }
  };

  const testStored = async (context: AdminApiContext): Promise<Response> => {
    const request = await readBody(context, storedBody);
    const id = idOf(context);
    const upstream = snapshot().upstreams.get(id);
    if (!upstream) throw notFound({ kind: "upstream", id });
    return run(context, upstream, request);
  };

  const shared = { method: "POST", needs: "administer", scope: "all-projects" } as const;
  return [
    {
      ...shared,
      path: "/upstreams/test",
      summary: "Test the connection to an upstream that need not be stored.",
      body: draftBody,
      response: connectionTestSchema,
      handle: testDraft,
    },
    {
      ...shared,
      path: "/upstreams/:id/test",
      summary: "Test the connection to an upstream in force.",
      body: storedBody,
      response: connectionTestSchema,
      handle: testStored,
    },
  ];
}

function paidRequestFor(
  upstream: Upstream,
  { mayCost = false, model, modelKind }: z.output<typeof storedBody>,
  send: AdminDependencies["sendTestRequest"],
): TestConnectionOptions["paidRequest"] {
  if (!mayCost) return undefined;
  if (model === undefined) {
    throw new GatewayError("missing_parameter", message("test_model_needed"), {
      param: "model",
    });
  }
  const kind = modelKind ?? guessModelKind(model, upstream.kind);
  if (kind !== undefined) return (signal) => send({ upstream, model }, kind, signal);
  throw new GatewayError("missing_parameter", message("test_model_kind_needed"), {
    param: "modelKind",
  });
}

function shownTest(result: ConnectionTestResult, upstream: Upstream): ConnectionTest {
  const { steps, problem, models } = result;
  const hide = hideSecretsOf(upstream);
  return {
    ...result,
    steps: steps.map(({ i18n, ...step }) => ({
      ...step,
      detail: hide(step.detail),
      ...(i18n && { i18n: hidden(i18n, hide) }),
    })),
    problem: problem === null ? null : hide(problem),
    models: models && sorted(models.map((id) => discovered(id, upstream.kind))),
  };
}

const hidden = ({ id, values }: Translatable, hide: (text: string) => string): Translatable => ({
  id,
  values: Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      typeof value === "string" ? hide(value) : value,
    ]),
  ),
});

const discovered = (id: string, kind: string): DiscoveredModel => ({
  id,
  kind: guessModelKind(id, kind) ?? null,
});

/** Models of a known kind first: large vendors list hundreds of language models. */
const sorted = (models: readonly DiscoveredModel[]): readonly DiscoveredModel[] =>
  models.toSorted(
    (a, b) => Number(a.kind === null) - Number(b.kind === null) || a.id.localeCompare(b.id, "en"),
  );

/** Defense in depth: a server may repeat the credential in its error. */
function hideSecretsOf({ apiKey, headers, options }: Upstream): (text: string) => string {
  const values = [
    apiKey,
    ...Object.values(headers),
    ...secretFieldsOf("upstream").map((field) => {
      const [name = "", member = ""] = field.split(".");
      return member === ""
        ? options[name]
        : (options[name] as Upstream["options"] | undefined)?.[member];
    }),
  ].filter((value): value is string => typeof value === "string" && value.length > 3);
  return (text) => redactSecrets(text, values, secretMask);
}
