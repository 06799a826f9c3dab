/** A list of IP addresses and networks (CIDR), such as `10.0.0.0/8, ::1`. */
import { BlockList, isIP } from "node:net";

/** Undefined: an entry is neither an address nor a network. */
export function parseAddressList(text: string): BlockList | undefined {
  const list = new BlockList();
  for (const entry of text.split(",").map((each) => each.trim())) {
    if (entry === "") continue;
    const [address = "", length, ...more] = entry.split("/");
    const family = isIP(address) === 6 ? "ipv6" : "ipv4";
    const bits = length === undefined ? undefined : Number(length);
    const isValid =
      isIP(address) !== 0 &&
      more.length === 0 &&
      (length === undefined || /^\d{1,3}$/.test(length)) &&
      (bits ?? 0) <= (family === "ipv6" ? 128 : 32);
    if (!isValid) return undefined;
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, bits, family);
  }
  return list;
}

const mappedIpv4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** False for text that is not an address. */
export function isInAddressList(list: BlockList, text: string): boolean {
  const address = mappedIpv4.exec(text)?.[1] ?? text;
  const family = isIP(address);
  return family !== 0 && list.check(address, family === 6 ? "ipv6" : "ipv4");
}
