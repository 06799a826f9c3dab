/** Azure's URLs and authentication headers. */
import type { Upstream } from "../../contract.ts";
import { type EndpointResolver, headersOf, type WireHeaders } from "../wire/build-request.ts";

export const azureHeaders = (upstream: Upstream): WireHeaders =>
  headersOf(upstream, (key) => ({ "api-key": key }));

/** A configured base URL may include the API path. */
export const azureRoot = ({ baseUrl = "" }: Upstream): string =>
  baseUrl.replace(/\/openai(\/v1)?$/, "");

/**
 * Azure has two APIs: with an `apiVersion` the deployment is part of the URL, without one the newer /openai/v1 takes
 * the deployment's name as the model.
 */
export const azureEndpoint: EndpointResolver = ({ upstream, model }, path) => {
  const root = azureRoot(upstream);
  const { apiVersion } = upstream.options;
  // In both APIs, a Responses request names its model in the body.
  const deployment = path === "responses" ? "" : `/deployments/${encodeURIComponent(model)}`;
  return {
    url:
      typeof apiVersion === "string"
        ? `${root}/openai${deployment}/${path}?api-version=${encodeURIComponent(apiVersion)}`
        : `${root}/openai/v1/${path}`,
    headers: azureHeaders(upstream),
  };
};
