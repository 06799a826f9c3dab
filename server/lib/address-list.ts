/** A list of IP addresses and CIDR networks, such as `10.0.0.0/8, ::1`. */
import { BlockList, isIP } from "node:net";
import { commaList } from "./comma-list.ts";

/** Undefined if an entry is neither an address nor a network. */
export function parseAddressList(text: string): BlockList | undefined {
  const list = new BlockList();
  for (const entry of commaList(text)) {
    const network = parseNetwork(entry);
    if (!network) return undefined;
    list.addSubnet(network.address, network.bits, network.family);
  }
  return list;
}

/** An address without a length is a network of one address. */
function parseNetwork(entry: string) {
  const [address = "", length, ...more] = entry.split("/");
  if (isIP(address) === 0 || more.length > 0) return undefined;
  const [family, maxBits] =
    isIP(address) === 6 ? (["ipv6", 128] as const) : (["ipv4", 32] as const);
  if (length === undefined) return { address, family, bits: maxBits };
  const bits = Number(length);
  return /^\d{1,3}$/.test(length) && bits <= maxBits ? { address, family, bits } : undefined;
}

const mappedIpv4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** False for text that is not an address. */
export function isInAddressList(list: BlockList, text: string): boolean {
  const address = mappedIpv4.exec(text)?.[1] ?? text;
  const family = isIP(address);
  return family !== 0 && list.check(address, family === 6 ? "ipv6" : "ipv4");
}
