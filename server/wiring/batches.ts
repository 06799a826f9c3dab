/** Constructs batches: their kind of job, and the handlers of their routes. */
import { isEndUserOrTag } from "../../contract/limits-and-budgets.ts";
import { createBatchHandlers } from "../api/batches.ts";
import { type CheckedLine, createCheckLine } from "../api/check-line.ts";
import { expiryOf } from "../api/files.ts";
import { createMayMerge } from "../api/merged-lines.ts";
import { callerOfKey, payerOfJob, resolveModel } from "../auth/authenticate.ts";
import { createBatchKind, notRun } from "../batches/batch-kind.ts";
import {
  type BatchData,
  type BatchOperation,
  batchDataOf,
  createBatches,
} from "../batches/batches.ts";
import { type CheckInputOptions, createCheckInput } from "../batches/check-input.ts";
import { type ChooseExecution, createEstimateBatch } from "../batches/estimate-batch.ts";
import { createChargeWithoutResult } from "../batches/vendor/charge-without-result.ts";
import { chooseExecution, type Vendor, vendorOf } from "../batches/vendor/choose-execution.ts";
import type { VendorEndpoint } from "../batches/vendor/vendor-api.ts";
import { vendorEndpointOf } from "../batches/vendor/vendor-api.ts";
import type { VendorTarget } from "../batches/vendor/vendor-batch.ts";
import { createVendorLines } from "../batches/vendor/vendor-lines.ts";
import { type Estimate, refuseUnknownPrice } from "../budgets/budgets.ts";
import type { Model, ParameterPolicy } from "../config/snapshot.ts";
import type { ClientFiles } from "../files/client-files.ts";
import { tryPlanQuery } from "../images/plan/plan.ts";
import type { ChargedLines, JobBudget } from "../jobs/job-budget.ts";
import type { FindWebhook } from "../jobs/job-metadata.ts";
import type { Jobs } from "../jobs/jobs.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { toNanos } from "../lib/nano-dollars.ts";
import { dayMs } from "../lib/timers.ts";
import { estimateEmbeddings, estimateImages } from "../limits/estimate-cost.ts";
import { loadOf } from "../limits/request-demand.ts";
import type { Caller } from "../request/caller.ts";
import { modelKindOf } from "../request/operation.ts";
import { RequestRecord } from "../request/request-record.ts";
import type { StoredJob } from "../storage/sql/stored-job.ts";
import { adapters } from "../upstream/adapters/index.ts";
import type { Target } from "../upstream/contract.ts";
import type { StoredData } from "./files.ts";
import type { RequestPath } from "./request-path.ts";
import type { Runtime } from "./runtime.ts";

/** What a line has besides the body of its request. */
const lineOverheadBytes = 4096;

const policyOf = (caller: Caller, model: Pick<Model, "parameters">): ParameterPolicy =>
  caller.parameters ?? model.parameters ?? "adapt";

type ImageQuery = Exclude<CheckedLine["query"], { readonly input: unknown }>;

/** Estimated, of embeddings inputs. */
const tokensOf = (query: CheckedLine["query"]): number =>
  "input" in query ? loadOf(query.input).tokens : 0;

/** In nano-dollars. `factor`: the part of the price that is paid. */
const nanosOf = ({ dollars, maxDollars }: Estimate, factor: number) => ({
  nanos: dollars === undefined ? null : toNanos(dollars * factor),
  ...(maxDollars !== undefined && { maxNanos: toNanos(maxDollars * factor) }),
});

/** The target of the model that the vendor's batch was sent to. */
const findTarget = (
  model: Pick<Model, "targets"> | undefined,
  { upstream: id, model: name }: NonNullable<BatchData["vendorTarget"]>,
): Target | undefined =>
  model?.targets.find(({ upstream, model: own }) => upstream.id === id && own === name);

interface BatchesWiringOptions {
  readonly jobs: Jobs;
  readonly files: ClientFiles;
  readonly budget: JobBudget;
  /** What jobs store. */
  readonly data: StoredData;
  readonly findWebhook: FindWebhook;
  readonly requestPath: Pick<
    RequestPath,
    "attribution" | "embeddings" | "ledger" | "upstreams" | "vendorImages"
  >;
  /** Aborted when the gateway stops. */
  readonly stopping: AbortSignal;
}

export function wireBatches(runtime: Runtime, options: BatchesWiringOptions) {
  const { settings, snapshot, log, now, byteTurns } = runtime;
  const { jobs, files, budget, findWebhook, requestPath, stopping } = options;
  const { contents } = options.data;
  const checkLine = createCheckLine({ maxInputs: settings.VEXEL_MAX_INPUTS });
  const { attribution } = requestPath;
  const { send } = requestPath.upstreams;
  const endpointOf = (
    { api }: Vendor,
    target: Target,
    operation: BatchOperation,
  ): VendorEndpoint | undefined => {
    const adapter = adapters.get(target.upstream.kind);
    return adapter && vendorEndpointOf(api, target, { adapter, send, operation, stopping });
  };
  const { imageCapabilities } = requestPath.upstreams.client;
  const imageEstimate = (
    query: ImageQuery,
    targets: readonly Target[],
    policy: ParameterPolicy,
  ): Estimate => {
    const operation = "images" in query ? "edits" : "generations";
    const planFor = (target: Target) =>
      tryPlanQuery(query, imageCapabilities(target, operation), policy);
    return estimateImages({ operation, targets, planFor });
  };
  /** The estimated cost of images, in US dollars. Null if unknown. */
  const imageDollars = (
    query: CheckedLine["query"],
    targets: readonly Target[],
    policy: ParameterPolicy,
  ): number | null =>
    "input" in query ? 0 : (imageEstimate(query, targets, policy).dollars ?? null);
  const targetOf = (job: StoredJob): VendorTarget | undefined => {
    const { models, upstreams } = snapshot();
    const { model: id = "", vendorTarget: sentTo, operation } = batchDataOf(job);
    const upstream = upstreams.get(sentTo?.upstream ?? "");
    if (!sentTo || !upstream) return undefined;
    const target = findTarget(models.get(id), sentTo) ?? { upstream, model: sentTo.model };
    const vendor = vendorOf(target);
    const endpoint = vendor && endpointOf(vendor, target, operation);
    return endpoint && { ...vendor, target, endpoint };
  };
  const payerOf = (job: StoredJob): ChargedLines => {
    const pinned = snapshot();
    const { model: id = "", vendorTarget, operation } = batchDataOf(job);
    const caller = callerOfKey(job.keyId, pinned, now());
    const model = resolveModel(id, modelKindOf(operation), caller, pinned);
    if (vendorTarget && findTarget(model, vendorTarget)) return { caller, model, operation };
    throw new GatewayError("vendor_batch_failed", "The model has another upstream.");
  };
  const vendorLines = createVendorLines({
    files: contents,
    targetOf,
    payerOf,
    plan: async (line, { target, priceFactor }, { caller, model }) => {
      const { body, refusal, operation, tags = null } = line;
      if (refusal) throw refusal;
      const pinned = snapshot();
      const { query: given } = checkLine(operation, body, caller, pinned);
      const record = new RequestRecord("", operation, now());
      const extraFields = attribution.attribute(record, tags, given, false);
      const query = extraFields ? { ...given, extraFields } : given;
      const { budgets = [] } = await attribution.limit(caller, record, pinned);
      const endUserAndTagBudgets = budgets.filter(isEndUserOrTag);
      const attributed = {
        endUserAndTagBudgets,
        ...(record.endUser !== null && { endUser: record.endUser }),
        ...(record.tags !== null && { tags: record.tags }),
      };
      // The line is refused alone, with the error of its request, when it runs.
      const checkPrice = (requests: readonly unknown[], estimate: Estimate): void => {
        if (requests.length > 0) refuseUnknownPrice(budgets, estimate);
      };
      if ("input" in query) {
        const requests = await requestPath.embeddings.vendor.plan({ query, model, target });
        const estimate = estimateEmbeddings(query, [target]);
        checkPrice(requests, estimate);
        return { ...attributed, requests, ...nanosOf(estimate, priceFactor) };
      }
      const policy = policyOf(caller, model);
      const requests = await requestPath.vendorImages.plan(query, model, target, policy);
      const estimate = imageEstimate(query, [target], policy);
      checkPrice(requests, estimate);
      return { ...attributed, requests, ...nanosOf(estimate, priceFactor) };
    },
    runsNow: (job) => batchDataOf(job).execution === "cheapest",
    notRun,
    chargeWithoutResult: createChargeWithoutResult({
      ledger: requestPath.ledger,
      payerOf: (job) => payerOfJob(job, snapshot()),
      replica: runtime.replica,
    }),
    budget,
    log,
    now,
    byteTurns,
  });
  const maxBytes = settings.VEXEL_BATCH_MAX_BYTES;
  const choose: ChooseExecution = (job, { model, tokens, imageDollars: dollars }) => {
    const { operation, execution } = batchDataOf(job);
    const pinned = snapshot();
    return chooseExecution({
      requested: execution,
      operation,
      model: model === undefined ? undefined : pinned.models.get(model),
      tokens,
      imageDollars: dollars,
      isSupported: (vendor, target) => endpointOf(vendor, target, operation) !== undefined,
    });
  };
  const limits = {
    maxLines: settings.VEXEL_BATCH_MAX_LINES,
    maxTextBytes: settings.VEXEL_MAX_BODY_BYTES + lineOverheadBytes,
    // Edits may have images as data: URLs.
    maxLineBytes: settings.VEXEL_MAX_BODY_BYTES + settings.VEXEL_MAX_FILE_BYTES + lineOverheadBytes,
  };
  const checking: CheckInputOptions = {
    files,
    limits,
    byteTurns,
    checkerOf: (job, operation) => {
      const pinned = snapshot();
      const caller = callerOfKey(job.keyId, pinned, now());
      return async (body) => {
        const checked = checkLine(operation, body, caller, pinned);
        const { query, model: id } = checked;
        const model = pinned.models.get(id);
        const dollars = model && imageDollars(query, model.targets, policyOf(caller, model));
        return { ...checked, tokens: tokensOf(query), imageDollars: dollars ?? null };
      };
    },
  };
  const batches = createBatches({ jobs, files, findWebhook, maxBytes, now });
  return {
    batches,
    estimateBatch: createEstimateBatch({
      checkInput: createCheckInput(checking),
      chooseExecution: choose,
    }),
    handlers: createBatchHandlers({
      snapshot,
      batches,
      responseMemory: runtime.responseMemory,
      now,
    }),
    kind: createBatchKind({
      vendorLines,
      chooseExecution: choose,
      ...checking,
      files,
      byteTurns,
      mayMerge: createMayMerge(snapshot, settings.VEXEL_MAX_INPUTS),
      expiryOf: (createdAt, seconds) =>
        expiryOf(
          createdAt,
          "batch_output",
          seconds ?? undefined,
          settings.VEXEL_FILES_DAYS * dayMs,
        ),
    }),
  };
}
