/**
 * Redis Sentinel: `REDIS_URL` names the sentinels, which know the address of the primary, also after a failover. They
 * are asked before each attempt to connect.
 */
import { errorMessage } from "../../lib/error-code.ts";

interface SentinelGroup {
  /** The URL of each sentinel. */
  readonly sentinels: readonly string[];
  /** The name under which the sentinels monitor the primary, such as `mymaster`. */
  readonly name: string;
  /** The URL of the primary at this address, such as `10.0.0.1:6379`. */
  primaryUrl(address: string): string;
}

/** Sends a command to the server with this URL, and returns its response. */
type AskServer = (url: string, command: string, args: string[]) => Promise<unknown>;

/** `redis+sentinel://user:password@host1:26379,host2:26379/name/0`, or `rediss+sentinel://` with TLS. */
const format =
  /^(rediss?)\+sentinel:\/\/([^@/?#]*@)?([^@/?#]+)\/([^/?#]+)(?:\/(\d{1,5}))?(?:\?(.*))?$/;
const defaultPort = 26_379;

/** Undefined for other URLs. */
export function parseSentinelUrl(url: string): SentinelGroup | undefined {
  const [, scheme, access = "", hosts = "", name = "", database = "0", query] =
    format.exec(url) ?? [];
  if (scheme === undefined) return undefined;
  const sentinels = hosts.split(",").map((host) => sentinelUrl(scheme, host, query));
  const primaryUrl = (address: string): string => `${scheme}://${access}${address}/${database}`;
  const isValid = [...sentinels, primaryUrl("host")].every((each) => URL.canParse(each));
  return isValid ? { sentinels, name: decodeURIComponent(name), primaryUrl } : undefined;
}

/** The sentinels have credentials of their own, or none. */
function sentinelUrl(scheme: string, host: string, query: string | undefined): string {
  const parameters = new URLSearchParams(query);
  const [user, password] = ["sentinel_username", "sentinel_password"].map((name) =>
    encodeURIComponent(parameters.get(name) ?? ""),
  );
  const access = password === "" ? "" : `${user}:${password}@`;
  return `${scheme}://${access}${/:\d+$/.test(host) ? host : `${host}:${defaultPort}`}`;
}

/**
 * The URL of the primary. Each attempt begins with another sentinel: one that is cut off from the others may name the
 * earlier primary.
 */
export async function findPrimary(
  { sentinels, name, primaryUrl }: SentinelGroup,
  attempt: number,
  ask: AskServer,
): Promise<string> {
  let reason = "";
  for (let at = 0; at < sentinels.length; at++) {
    const url = sentinels[(attempt + at) % sentinels.length] ?? "";
    try {
      const address = await ask(url, "SENTINEL", ["get-master-addr-by-name", name]);
      if (Array.isArray(address)) return primaryUrl(addressOf(address.map(String)));
      reason = `it monitors no primary named ${name}`;
    } catch (error) {
      reason = errorMessage(error);
    }
  }
  throw new Error(`no sentinel named the primary: ${reason}`);
}

const addressOf = ([host = "", port = ""]: readonly string[]): string =>
  host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
