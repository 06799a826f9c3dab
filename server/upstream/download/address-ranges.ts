/**
 * SSRF guard, denylist of address ranges: links from a client or an upstream may lead only to public Internet
 * addresses, so that no client can read the gateway's own network through it.
 */

import { BlockList, isIPv4, isIPv6 } from "node:net";

/** Networks that are not public, by IANA's registry of special addresses (RFC 6890 and its updates). */
const privateV4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "127.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  // Carrier-grade NAT; the metadata service of Alibaba's machines is in it too.
  "100.64.0.0/10",
  // Link-local: the metadata service of most other clouds.
  "169.254.0.0/16",
  // Protocols and their relays, documentation, measurements.
  "192.0.0.0/24",
  "192.88.99.0/24",
  "192.0.2.0/24",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "198.18.0.0/15",
  // Multicast, reserved, broadcast.
  "224.0.0.0/4",
  "240.0.0.0/4",
  // Azure's agent on the host of a virtual machine: not public, although its range is
  // (learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16).
  "168.63.129.16/32",
];

/** NAT64 (RFC 6052): the last four bytes are the IPv4 address. */
const translated = "64:ff9b::";

function translatedNetwork(v4: string): string {
  const [address, bits] = v4.split("/");
  return `${translated}${address}/${96 + Number(bits)}`;
}

/**
 * The only IPv6 range allocated for the public Internet: all others are local, multicast, mapped or reserved. And NAT64
 * addresses, whose IPv4 address is checked.
 */
const publicV6 = ["2000::/3", `${translated}/96`];
/** IPv6 networks that embed IPv4 addresses in several ways: Teredo, 6to4, and NAT64 of a private network (RFC 8215). */
const embeddingV6 = ["2001::/32", "2002::/16", "64:ff9b:1::/48"];
const privateV6 = [
  ...embeddingV6,
  // Protocols.
  "2001::/23",
  // Documentation, and a former test network.
  "2001:db8::/32",
  "3fff::/20",
  "3ffe::/16",
];

const privateAddresses = {
  ipv4: listOf(privateV4),
  ipv6: listOf([...privateV6, ...privateV4.map(translatedNetwork)]),
};
const publicAddresses = listOf(publicV6);

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", bits] = network.split("/");
    list.addSubnet(address, Number(bits), ipFamilyOf(address));
  }
  return list;
}

/** Undefined for a name, for an address with a zone, and for another notation. */
export function ipFamilyOf(address: string): "ipv4" | "ipv6" | undefined {
  if (isIPv4(address)) return "ipv4";
  return isIPv6(address) && !address.includes("%") ? "ipv6" : undefined;
}

/** Whether a text is an IP address of the public Internet. */
export function isPublic(address: string): boolean {
  const family = ipFamilyOf(address);
  if (family === undefined || privateAddresses[family].check(address, family)) return false;
  return family === "ipv4" || publicAddresses.check(address, family);
}

/**
 * Link-local networks and the metadata services of clouds (AWS, Azure, Google, Alibaba, Oracle). No upstream and no
 * webhook is there, and a metadata service gives credentials to everything that can connect to it.
 */
const linkLocalV4 = ["169.254.0.0/16", "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32"];
const linkLocalV6 = ["fe80::/10", "fd00:ec2::254/128", "fd00:ec2::23/128", "fd20:ce::254/128"];
/** IPv6 addresses that stand for an IPv4 address: IPv4-mapped, IPv4-translated, IPv4-compatible, and NAT64. */
const inV6 = (v4: string): string[] => {
  const [address, bits] = v4.split("/");
  const prefixes = ["::ffff:", "::ffff:0:", "::", translated];
  return prefixes.map((prefix) => `${prefix}${address}/${96 + Number(bits)}`);
};
const linkLocalAddresses = {
  ipv4: listOf(linkLocalV4),
  ipv6: listOf([...linkLocalV6, ...embeddingV6, ...linkLocalV4.flatMap(inV6)]),
};

/** Whether a text is such an IP address. An address with a zone (`%eth0`) is link-local. */
export function isLinkLocal(address: string): boolean {
  const family = ipFamilyOf(address);
  if (family === undefined) return address.includes("%");
  return linkLocalAddresses[family].check(address, family);
}

/** Whether the host of a URL is a metadata service or link-local, without a lookup. */
export function isMetadataHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  return /^metadata(\.google\.internal)?$/i.test(host) || isLinkLocal(host);
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
  return isPrivateName(host) || (ipFamilyOf(host) !== undefined && !isPublic(host));
}

export const hasCredentials = ({ username, password }: URL): boolean =>
  username !== "" || password !== "";
