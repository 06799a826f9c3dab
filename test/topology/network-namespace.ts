/**
 * A network namespace for one replica, with two links to this machine: one for its storage (PostgreSQL, Redis and the
 * object store), one for its clients and upstreams. A link that is down loses packets in both directions: nothing is refused or closed,
 * and both ends notice by their timeouts only. Needs root and the `ip` command (Debian package `iproute2`).
 */
import { readlinkSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { isSkipped, pathOf } from "../programs.ts";
import { until } from "../until.ts";

export type LinkName = "storage" | "clients";

export interface NetworkNamespace {
  /** Runs a command in the namespace. */
  readonly wrapper: readonly string[];
  /** The address of the namespace on a link. */
  address(link: LinkName): string;
  /** Makes a server on 127.0.0.1 of this machine reachable in the namespace. Returns its address and port there. */
  expose(port: number, link: LinkName): Promise<string>;
  cutOff(link: LinkName): void;
  restore(link: LinkName): void;
  close(): void;
}

export function mayCreateNamespaces(): boolean {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  // In CI the tests must run: a command that fails there is an error, not a reason to skip.
  if (process.env.CI === "true") return true;
  return !isSkipped(["ip"]) && Bun.spawnSync(["unshare", "--net", "true"]).success;
}

const links: readonly LinkName[] = ["storage", "clients"];
/** 198.18.0.0/15 is for tests of networks (RFC 2544). Each test process has subnets of its own. */
const subnet = (link: LinkName): string => {
  const number = (process.pid * links.length + links.indexOf(link)) % 2 ** 15;
  return `198.${18 + (number >> 14)}.${(number >> 6) & 255}.${(number & 63) * 4 + 1}`;
};
const hostAddress = subnet;
const [hostMac, replicaMac] = ["02:00:00:00:00:01", "02:00:00:00:00:02"];
/**
 * A permanent neighbor entry: without it, the system reports after three seconds without an ARP response that there is
 * no host.
 */
const neighbor = (address: string, mac: string, device: string): string =>
  `neighbor add ${address} lladdr ${mac} dev ${device} nud permanent`;
const namespaceAddress = (link: LinkName): string =>
  subnet(link).replace(/\d+$/, (last) => String(Number(last) + 1));

/**
 * host --veth-- switch (a bridge in a namespace of its own) --veth-- replica. The link is cut between the switch and
 * the replica, so the interfaces and routes of both ends stay. Everything disappears with the last process of a
 * namespace, and both end with the test process.
 */
export async function createNetworkNamespace(): Promise<NetworkNamespace> {
  const [replica, network] = [await holdNamespace(), await holdNamespace()];
  for (const link of links) {
    const device = `vx${process.pid}${link[0]}`;
    ip(undefined, [
      `link add ${device} address ${hostMac} type veth peer name host-${link} netns ${network.pid}`,
    ]);
    ip(network.pid, [
      `link add replica-${link} type veth peer name ${link} address ${replicaMac} netns ${replica.pid}`,
      `link add ${link} type bridge`,
      ...["host", "replica"].map((end) => `link set ${end}-${link} master ${link} up`),
      `link set ${link} up`,
    ]);
    ip(undefined, [
      `address add ${hostAddress(link)}/30 dev ${device}`,
      `link set ${device} up`,
      neighbor(namespaceAddress(link), replicaMac, device),
    ]);
    ip(replica.pid, [
      `address add ${namespaceAddress(link)}/30 dev ${link}`,
      `link set ${link} up`,
      "link set lo up",
      neighbor(hostAddress(link), hostMac, link),
    ]);
  }
  const forwarders: Forwarder[] = [];
  return {
    wrapper: ["nsenter", `--target=${replica.pid}`, "--net"],
    address: namespaceAddress,
    expose: async (port, link) => {
      const forwarder = new Forwarder(port);
      forwarders.push(forwarder);
      return `${hostAddress(link)}:${await forwarder.listen(hostAddress(link))}`;
    },
    cutOff: (link) => ip(network.pid, [`link set replica-${link} down`]),
    restore: (link) => ip(network.pid, [`link set replica-${link} up`]),
    close: () => {
      for (const forwarder of forwarders) forwarder.close();
      for (const { process } of [replica, network]) process.kill("SIGKILL");
    },
  };
}

/** A process in a new network namespace, which lives as long as the process. */
async function holdNamespace(): Promise<{
  readonly pid: number;
  readonly process: Bun.Subprocess;
}> {
  const process = Bun.spawn(
    ["setpriv", "--pdeathsig", "SIGKILL", "unshare", "--net", "sleep", "infinity"],
    { stdin: "ignore", stdout: "ignore", stderr: "ignore" },
  );
  const { pid } = process;
  const own = readlinkSync("/proc/self/ns/net");
  await until(() => readlinkSync(`/proc/${pid}/ns/net`) !== own);
  return { pid, process };
}

/** Runs commands of `ip` in the namespace of a process, or in that of this machine. */
function ip(pid: number | undefined, commands: readonly string[]): void {
  const enter = pid === undefined ? [] : ["nsenter", `--target=${pid}`, "--net"];
  const { success, stderr } = Bun.spawnSync([...enter, pathOf("ip"), "-batch", "-"], {
    stdin: Buffer.from(commands.join("\n")),
  });
  if (!success) throw new Error(`ip failed: ${stderr}`);
}

/** Forwards connections on an address of this machine to a server on 127.0.0.1. */
class Forwarder {
  readonly #server: Server;
  readonly #open = new Set<Socket>();

  constructor(port: number) {
    this.#server = createServer((client) => {
      const inner = connect(port, "127.0.0.1");
      for (const [socket, other] of [
        [client, inner],
        [inner, client],
      ] as const) {
        this.#open.add(socket);
        socket.setNoDelay(true);
        socket.pipe(other);
        // A server that stops resets its connections, and so does the forwarder.
        socket.on("error", () => undefined);
        socket.on("close", () => {
          this.#open.delete(socket);
          other.destroy();
        });
      }
    });
  }

  listen(address: string): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    this.#server.once("error", reject);
    this.#server.listen(0, address, () => resolve((this.#server.address() as AddressInfo).port));
    return promise;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#open) socket.destroy();
  }
}
