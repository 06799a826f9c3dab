/** Options of an entry of LiteLLM's model list, as members of a model or a target. */

import type { ModelKind } from "../../../contract/model-kinds.ts";
import type { JsonObject } from "../../../server/storage/sql/config-entity-store.ts";
import { knownEmbedding } from "../../../server/upstream/catalog/index.ts";
import type { SubjectReport } from "../report.ts";
import type { Parameters } from "./plan-upstream.ts";
import { splitModel } from "./providers.ts";
import { type LitellmSource, objectOf } from "./source.ts";

export function withCredential(
  { litellm_credential_name: name, ...params }: JsonObject,
  credentials: LitellmSource["credentials"],
  report: SubjectReport,
): JsonObject {
  if (name === undefined || name === null) return params;
  const credential = credentials.get(String(name));
  if (credential) report.carried("litellm_credential_name", "the parameters of the credential");
  else report.dropped("litellm_credential_name", `the credential "${name}" was not found`);
  return { ...credential, ...params };
}

/** `drop_params` of the entry or of litellm_settings, which image models of Vexel have, too. */
export function dropsParameters(
  params: Parameters,
  { otherSettings }: LitellmSource,
  report: SubjectReport,
): boolean {
  const own = params.take("drop_params");
  const drops = (own ?? objectOf(otherSettings.get("litellm_settings")).drop_params) === true;
  if (drops) report.carried("drop_params", "parameters: drop");
  return drops;
}

/** The ranges are those of vexel.yaml. Undefined if LiteLLM sends no requests to the entry, which was reported. */
export function orderOf(params: Parameters, report: SubjectReport): JsonObject | undefined {
  const weight = params.take("weight");
  const order = params.take("order");
  if (weight !== undefined && Number(weight) === 0) {
    report.refused("its weight is 0, so LiteLLM sends no requests to it");
    return undefined;
  }
  const hasWeight = Number(weight) > 0 && Number(weight) <= 1e6;
  const hasOrder = Number.isInteger(Number(order)) && Number(order) >= 0 && Number(order) <= 1000;
  if (hasWeight) report.carried("weight", `weight: ${weight}`);
  else if (weight !== undefined)
    report.dropped("weight", `"${weight}" is not a number above 0 and up to 1000000`);
  if (hasOrder) report.carried("order", `tier: ${order}`);
  else if (order !== undefined)
    report.dropped("order", `"${order}" is not an integer from 0 to 1000`);
  return { ...(hasWeight && { weight: Number(weight) }), ...(hasOrder && { tier: Number(order) }) };
}

/** Whether the entry asks for a length that its model has only on request, which was reported. */
export function isShortened(
  kind: ModelKind,
  params: Parameters,
  model: string,
  report: SubjectReport,
): boolean {
  if (kind !== "embedding") return false;
  const dimensions = params.peek("dimensions");
  const known = knownEmbedding(splitModel(model, undefined)?.name ?? model)?.dimensions;
  if (dimensions === undefined || known === undefined || Number(dimensions) === known) return false;
  report.refused(
    `LiteLLM adds dimensions: ${dimensions} to every request. Vexel does not: let clients send it, and remove it from the entry`,
  );
  return true;
}

export function numberOf(
  params: Parameters,
  name: string,
  report: SubjectReport,
): number | undefined {
  const value = params.take(name);
  if (value === undefined) return undefined;
  const number = Number(value);
  if (Number.isFinite(number) && number >= 1) {
    report.carried(name, `${name}: ${number}`);
    return number;
  }
  report.dropped(name, `"${value}" is not a number from 1`);
  return undefined;
}
