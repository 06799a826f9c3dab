/** Bodies of clients that are not signed in to the admin API. */
import { afterAll, expect, test } from "bun:test";
import { RawConnection, startGatewayWithFake, toHttpText } from "../http/gateway-fixture.ts";
import { until } from "../until.ts";

const edge = startGatewayWithFake();
const { gateway } = edge;
afterAll(() => edge.close());

const paths = ["/admin/api/session", "/admin/api/session/setup"];

/** The response to a request whose body is not sent, or only up to here. */
async function responseTo(path: string, framing: Record<string, string>, sent: string) {
  const connection = await openRequest(path, framing, sent);
  const response = await connection.response();
  connection.disconnect();
  return response;
}

function openRequest(path: string, framing: Record<string, string>, sent: string) {
  const headers = { "content-type": "application/json", ...framing };
  const head = toHttpText({ method: "POST", path, headers });
  return RawConnection.open(gateway.url, head, sent);
}

test("a client that is not signed in may send up to 4 KB, with and without an announced length", async () => {
  for (const path of paths) {
    const announced = await responseTo(path, { "content-length": "4097" }, "");
    expect(announced.status).toBe(413);
    expect(announced.body).toContain("the maximum of 4096 bytes");
    const sent = `1001\r\n{"name":"${"a".repeat(0x1001)}`;
    const chunked = await responseTo(path, { "transfer-encoding": "chunked" }, sent);
    expect(chunked.status).toBe(413);
  }
});

test("a change without a session is refused before its body is read", async () => {
  for (const path of ["/admin/api/keys", "/admin/api/users", "/admin/api/playground/embeddings"]) {
    const { status } = await responseTo(path, { "content-length": "1000000" }, "");
    expect([path, status]).toEqual([path, 401]);
  }
});

test("a sign-in above the rate of its address is refused before its body is read", async () => {
  for (const path of paths) {
    const connections: RawConnection[] = [];
    // An address may send 240 at once and four per second, and 20 wait in line.
    await until(async () => {
      const opening = Array.from({ length: 40 }, () =>
        openRequest(path, { "content-length": "100" }, ""),
      );
      connections.push(...(await Promise.all(opening)));
      return connections.some(({ received }) => received.includes("\r\n\r\n"));
    });
    expect(connections.length).toBeGreaterThan(path === paths[0] ? 260 : 0);
    const refused = connections.find(({ received }) => received !== "");
    expect((await refused?.response())?.status).toBe(429);
    for (const connection of connections) connection.disconnect();
  }
});
