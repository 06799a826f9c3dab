/** URLs of Alibaba's Model Studio. */
import type { Upstream } from "../../contract.ts";

/** Singapore. Beijing is https://dashscope.aliyuncs.com/api/v1, with separate API keys. */
export const dashscopeUrl = "https://dashscope-intl.aliyuncs.com/api/v1";

/** A configured base URL may be that of the OpenAI-compatible API. */
export const dashscopeRoot = (upstream: Upstream): string =>
  (upstream.baseUrl ?? dashscopeUrl).replace(/\/compatible-mode\/v1$/, "/api/v1");
