/** HAProxy, from Debian's package, with the configuration of `deploy/`. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../harness.ts";
import { pathOf } from "../programs.ts";
import { freePort } from "../storage/postgres-server.ts";
import { isListening } from "../storage/redis-server.ts";
import { until } from "../until.ts";
import type { LoadBalancer } from "./nginx.ts";

/** The configuration of `deploy/` for other addresses: the names of its replicas exist only in compose. */
export function haproxyConfig(bind: string, replicas: readonly [string, string]): string {
  return readFileSync(join(root, "deploy/haproxy/haproxy.cfg"), "utf8")
    .replace("bind :8080", `bind ${bind}`)
    .replace("vexel-1:8080", replicas[0])
    .replace("vexel-2:8080", replicas[1]);
}

/** `replicas`: addresses with ports. */
export async function startHaproxy(
  folder: string,
  replicas: readonly [string, string],
): Promise<LoadBalancer> {
  const port = await freePort();
  const file = join(folder, "haproxy.cfg");
  writeFileSync(file, haproxyConfig(`127.0.0.1:${port}`, replicas));
  // The server ends with the test process, also after kill -9.
  const command = ["setpriv", "--pdeathsig", "SIGKILL", pathOf("haproxy"), "-db", "-f", file];
  const child = Bun.spawn(command, { stdin: "ignore", stdout: "ignore", stderr: "ignore" });
  const url = `http://127.0.0.1:${port}`;
  // Without a request, which would reach a replica.
  await until(() => isListening(port));
  return {
    url,
    stop: async () => {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}
