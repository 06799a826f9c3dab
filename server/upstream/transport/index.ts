/**
 * The interface of the HTTP client: other code imports this file only. `createTransport` sends requests to upstreams.
 * `openStream` sends one request to an address that the caller has checked, and `checkConnection` sends none.
 */
export { type Address, checkConnection, type TlsTrust, urlAddress } from "./connection.ts";
export { openStream, type StreamedResponse, type StreamRequest } from "./exchange.ts";
export { InvalidHttpResponse, ResponseTooLarge } from "./parse-response.ts";
export {
  createTransport,
  type FetchOnly,
  needsFetch,
  type SendUpstreamRequest,
  sendByFetch,
} from "./transport.ts";
export { ConnectionLost, NotConnected } from "./transport-error.ts";
