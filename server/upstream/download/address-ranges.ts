/**
 * SSRF guard, address ranges: links from a client or an upstream may lead only to public Internet addresses, so that no
 * client can read the gateway's own network through it.
 */

/** Networks that are not public, by IANA's registry of special addresses (RFC 6890 and its updates). */
const privateV4: readonly Network[] = [
  ...["0.0.0.0/8", "10.0.0.0/8", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"],
  // Carrier-grade NAT; the metadata service of Alibaba's machines is in it too.
  "100.64.0.0/10",
  // Link-local: the metadata service of most other clouds.
  "169.254.0.0/16",
  // Protocols and their relays, documentation, measurements.
  ...["192.0.0.0/24", "192.88.99.0/24", "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"],
  "198.18.0.0/15",
  // Multicast, reserved, broadcast.
  ...["224.0.0.0/4", "240.0.0.0/4"],
  // Azure's agent on the host of a virtual machine: not public, although its range is
  // (learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16).
  "168.63.129.16/32",
].map(networkOf);

/** The only IPv6 range allocated for the public Internet: all others are local, multicast, mapped or reserved. */
const publicV6 = networkOf("2000::/3");
const privateV6: readonly Network[] = [
  // Protocols, among them Teredo, which embeds an IPv4 address that would go unchecked.
  "2001::/23",
  // 6to4, for the same reason.
  "2002::/16",
  // Documentation, and a former test network.
  ...["2001:db8::/32", "3fff::/20", "3ffe::/16"],
].map(networkOf);

/** NAT64 (RFC 6052): the last four bytes are the IPv4 address. */
const translated = networkOf("64:ff9b::/96");

interface Network {
  readonly bytes: Uint8Array;
  readonly bits: number;
}

/** Whether a text is an IP address of the public Internet. */
export function isPublic(address: string): boolean {
  const bytes = addressBytes(address);
  return bytes !== undefined && isPublicAddress(bytes);
}

function isPublicAddress(bytes: Uint8Array): boolean {
  const within = (network: Network): boolean => isWithin(bytes, network);
  if (bytes.length === 4) return !privateV4.some(within);
  if (within(translated)) return isPublicAddress(bytes.subarray(12));
  return within(publicV6) && !privateV6.some(within);
}

function isWithin(bytes: Uint8Array, { bytes: prefix, bits }: Network): boolean {
  for (let bit = 0; bit < bits; bit += 8) {
    const mask = (0xff00 >> Math.min(8, bits - bit)) & 0xff;
    const at = bit / 8;
    if (((bytes[at] ?? 0) & mask) !== ((prefix[at] ?? 0) & mask)) return false;
  }
  return true;
}

function networkOf(text: string): Network {
  const [address = "", bits] = text.split("/");
  return { bytes: addressBytes(address) ?? new Uint8Array(), bits: Number(bits) };
}

/** Four bytes or sixteen. Strict: undefined for a name, a zone or another notation. */
export function addressBytes(address: string): Uint8Array | undefined {
  return address.includes(":") ? v6Bytes(address) : v4Bytes(address);
}

function v4Bytes(address: string): Uint8Array | undefined {
  const parts = address.split(".");
  if (parts.length !== 4) return undefined;
  const isByte = (part: string): boolean => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256;
  return parts.every(isByte) ? Uint8Array.from(parts, Number) : undefined;
}

function v6Bytes(address: string): Uint8Array | undefined {
  const halves = address.split("::");
  if (halves.length > 2) return undefined;
  const [head, tail] = halves.map((half) => (half === "" ? [] : groupBytes(half.split(":"))));
  if (!head) return undefined;
  if (halves.length === 1) return head.length === 16 ? Uint8Array.from(head) : undefined;
  if (!tail || head.length + tail.length > 14) return undefined;
  const bytes = new Uint8Array(16);
  bytes.set(head);
  bytes.set(tail, 16 - tail.length);
  return bytes;
}

/** The last group may be an IPv4 address. */
function groupBytes(groups: readonly string[]): number[] | undefined {
  const bytes: number[] = [];
  for (const [at, group] of groups.entries()) {
    const v4 = at === groups.length - 1 && group.includes(".") ? v4Bytes(group) : undefined;
    if (!v4 && !/^[0-9a-f]{1,4}$/i.test(group)) return undefined;
    const value = Number.parseInt(group, 16);
    bytes.push(...(v4 ?? [value >> 8, value & 0xff]));
  }
  return bytes;
}

/**
 * Names of private networks, whatever address a resolver returns for them: reserved names (RFC 6761, 6762, 8375, and
 * ICANN's `internal`), names that ICANN does not delegate because private networks use them (`corp`, `home`), names
 * that routers, companies and Kubernetes assign, and names of one label: the public Internet has none.
 */
export const isPrivateName = (host: string): boolean =>
  /^[^.:]+$/.test(host) ||
  /(?:^|\.)(?:localhost|local|internal|home\.arpa|test|corp|home|lan|localdomain|intranet|private|svc)$/i.test(
    host,
  );

/** Whether the host of a URL is a private name or address, without a lookup. */
export function isPrivateHost(hostname: string): boolean {
  // A trailing dot marks a fully qualified name.
  const host = hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  return isPrivateName(host) || (addressBytes(host) !== undefined && !isPublic(host));
}

export const hasCredentials = ({ username, password }: URL): boolean =>
  username !== "" || password !== "";
