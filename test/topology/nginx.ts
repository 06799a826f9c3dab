/** nginx as a proxy and as the load balancer of the replicas, from Debian's package. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathOf } from "../programs.ts";
import { freePort } from "../storage/postgres-server.ts";
import { until } from "../until.ts";

const configuration = (folder: string, port: number, http: string, server: string): string => `
daemon off;
${process.getuid?.() === 0 ? "user root;" : ""}
worker_processes 1;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log warn;
events { worker_connections 1024; }
http {
  access_log off;
  keepalive_requests 1000000;
  keepalive_timeout 600s;
  client_max_body_size 0;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  ${http}
  server {
    listen 127.0.0.1:${port};
    location = /nginx-ready { return 200; }
    ${server}
  }
}
`;

/**
 * Round robin: with `least_conn`, a replica that refuses requests at once would get most of them. A POST that was sent
 * to a replica is not sent to another one, which is nginx's default. A replica that refuses the connection is skipped,
 * and not tried again for a second.
 */
const upstreamOf = (replicas: readonly string[]): string => `
  upstream replicas {
    ${replicas.map((address) => `server ${address} max_fails=1 fail_timeout=1s;`).join("\n    ")}
    keepalive 64;
  }`;

const balance = `
    location / {
      proxy_pass http://replicas;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $host;
      proxy_buffering off;
      proxy_request_buffering off;
      proxy_connect_timeout 2s;
      proxy_read_timeout 620s;
    }`;

export interface LoadBalancer {
  readonly url: string;
  stop(): Promise<void>;
}

/** `replicas`: addresses with ports. */
export const startLoadBalancer = (
  parent: string,
  replicas: readonly string[],
): Promise<LoadBalancer> => startNginx(parent, balance, upstreamOf(replicas));

/** `server`: directives of the server. `http`: directives beside it. */
export async function startNginx(parent: string, server: string, http = ""): Promise<LoadBalancer> {
  const folder = join(parent, "nginx");
  mkdirSync(folder, { recursive: true });
  const port = await freePort();
  const file = join(folder, "nginx.conf");
  writeFileSync(file, configuration(folder, port, http, server));
  const child = Bun.spawn(
    [
      // The server ends with the test process, also after kill -9.
      "setpriv",
      "--pdeathsig",
      "SIGTERM",
      pathOf("nginx"),
      "-p",
      folder,
      "-c",
      file,
      "-e",
      `${folder}/error.log`,
    ],
    { stdin: "ignore", stdout: "ignore", stderr: "ignore" },
  );
  const url = `http://127.0.0.1:${port}`;
  await until(async () => {
    try {
      return (await fetch(`${url}/nginx-ready`)).ok;
    } catch {
      return false;
    }
  });
  return {
    url,
    stop: async () => {
      child.kill("SIGTERM");
      await child.exited;
    },
  };
}
