/** URLs of Workers AI: the account and the model are in the path. */
import type { Target, Upstream } from "../../contract.ts";
import { modelPath } from "../wire/build-request.ts";

export const cloudflareBaseUrl = "https://api.cloudflare.com/client/v4";

export const aiOf = ({ baseUrl = cloudflareBaseUrl, options }: Upstream): string =>
  `${baseUrl}/accounts/${encodeURIComponent(String(options.accountId))}/ai`;

export const runOf = ({ upstream, model }: Target): string =>
  `${aiOf(upstream)}/run/${modelPath(model)}`;
