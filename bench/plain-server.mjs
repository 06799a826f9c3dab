/**
 * `bun bench/plain-server.mjs bun|node`: a plain HTTP server, as the reference for hostile load. Refuses a POST without
 * a key before it reads the body, and reads the body of any other request. Prints its port.
 */
import { createServer } from "node:http";

if (process.argv[2] === "bun") {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    maxRequestBodySize: 1024 * 1024 * 1024,
    fetch: async (request) => {
      if (request.method === "POST" && !request.headers.has("authorization")) {
        return new Response("no key", { status: 401 });
      }
      await request.arrayBuffer();
      return new Response("ok");
    },
  });
  console.log(server.port);
} else {
  const server = createServer((request, response) => {
    if (request.method === "POST" && !request.headers.authorization) {
      response.writeHead(401).end("no key");
      return;
    }
    request.on("data", () => undefined);
    request.on("end", () => response.end("ok"));
  });
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
}
