/** An OpenTelemetry collector that accepts and discards every span. Prints its port. */
const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: async (request) => {
    await request.arrayBuffer();
    return new Response(null, { headers: { "content-type": "application/x-protobuf" } });
  },
});
console.log(server.port);
