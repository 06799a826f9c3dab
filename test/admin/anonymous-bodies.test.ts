/** Bodies of clients that are not signed in to the admin API. */
import { afterAll, expect, test } from "bun:test";
import { RawConnection, startGatewayWithFake, toHttpText } from "../http/gateway-fixture.ts";

const edge = startGatewayWithFake();
const { gateway } = edge;
afterAll(() => edge.close());

const paths = ["/admin/api/session", "/admin/api/session/setup"];

/** The response to a request whose body is not sent, or only up to here. */
async function responseTo(path: string, framing: Record<string, string>, sent: string) {
  const headers = { "content-type": "application/json", ...framing };
  const head = toHttpText({ method: "POST", path, headers });
  const connection = await RawConnection.open(gateway.url, head, sent);
  const response = await connection.response();
  connection.disconnect();
  return response;
}

test("a client that is not signed in may send up to 16 KB, with and without an announced length", async () => {
  for (const path of paths) {
    const announced = await responseTo(path, { "content-length": "16385" }, "");
    expect(announced.status).toBe(413);
    expect(announced.body).toContain("the maximum of 16384 bytes");
    const sent = `4001\r\n{"name":"${"a".repeat(0x4001)}`;
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

test("a sign-in that has to wait is refused before its body is read", async () => {
  for (let failure = 0; failure < 21; failure++) {
    const body = JSON.stringify({ name: `user ${failure}`, password: "guess" });
    await fetch(`${gateway.url}${paths[0]}`, { method: "POST", body });
  }
  for (const path of paths) {
    const { status } = await responseTo(path, { "content-length": "100" }, "");
    expect([path, status]).toEqual([path, 429]);
  }
});
