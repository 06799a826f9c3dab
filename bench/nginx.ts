/** The reference: nginx as a plain reverse proxy with keep-alive connections and one worker. */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cores, freePort, type Running, ready, start } from "./processes.ts";

// On Debian it is in a folder that only root's PATH has.
const binary = Bun.which("nginx") ?? Bun.which("/usr/sbin/nginx");
export const isNginxInstalled = binary !== null;

/** For large responses: fewer and larger buffers than nginx's default. */
export const largeBuffers =
  "proxy_buffer_size 16k; proxy_buffers 8 32k; proxy_busy_buffers_size 64k; proxy_max_temp_file_size 0;";

const configuration = (folder: string, port: number, upstream: string, more: string): string => `
daemon off;
${process.getuid?.() === 0 ? "user root;" : ""}
worker_processes 1;
pid ${folder}/nginx.pid;
error_log stderr error;
events { worker_connections 2048; }
http {
  access_log off;
  client_max_body_size 0;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  keepalive_requests 100000000;
  upstream up {
    server ${upstream.replace("http://", "")};
    keepalive 128;
    keepalive_requests 100000000;
  }
  server {
    listen 127.0.0.1:${port};
    location = /ready { return 200; }
    location / {
      proxy_pass http://up;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_request_buffering off;
      ${more}
    }
  }
}
`;

export interface RunningProxy {
  readonly url: string;
  readonly process: Running;
  readonly readyMs: number;
}

/** Undefined when nginx is not installed. */
export async function startNginx(
  folder: string,
  upstream: string,
  more = "",
): Promise<RunningProxy | undefined> {
  if (!binary) return undefined;
  mkdirSync(folder, { recursive: true });
  const port = freePort();
  const file = join(folder, "nginx.conf");
  writeFileSync(file, configuration(folder, port, upstream, more));
  const child = start([binary, "-p", folder, "-c", file, "-e", "stderr"], cores.proxy);
  const url = `http://127.0.0.1:${port}`;
  return { url, process: child, readyMs: (await ready(`${url}/ready`, child)) - child.startedAt };
}
