/**
 * A link never reaches an internal address: not directly, by name, in another notation, by redirect or by DNS
 * rebinding.
 */
import { describe, expect, test } from "bun:test";
import {
  expectError,
  fromClient,
  otherAddress,
  png,
  publicAddress,
  redirect,
  response,
  startDownloadSetup,
} from "./download-fixture.ts";

const closed = /does not lead to a public address/;

describe("a private address is not connected to", () => {
  const inside = [
    "127.0.0.1",
    "127.255.0.1",
    "10.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "0.0.0.0",
    "0.1.2.3",
    "100.64.0.1",
    "100.100.100.200",
    "100.127.255.255",
    "169.254.169.254",
    "169.254.1.1",
    "192.0.0.192",
    "192.0.2.1",
    "198.18.0.1",
    "198.19.255.1",
    "198.51.100.7",
    "203.0.113.7",
    "224.0.0.1",
    "239.1.1.1",
    "240.0.0.1",
    "255.255.255.255",
    "192.88.99.1",
    "168.63.129.16",
    "::",
    "::1",
    "fe80::1",
    "fec0::1",
    "fc00::1",
    "fd00:ec2::254",
    "ff02::1",
    "2001:db8::1",
    // IPv4 addresses inside IPv6 addresses: mapped, compatible, translated, 6to4, Teredo.
    "::ffff:127.0.0.1",
    "::ffff:93.184.215.14",
    "::127.0.0.1",
    "::ffff:0:127.0.0.1",
    "64:ff9b::127.0.0.1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::5db8:d70e",
    "2002:7f00:1::1",
    "2002:a00:1::1",
    "2001:0:4136:e378:8000:63bf:80ff:fffe",
    "2001:10::1",
    "3fff::1",
    "100::1",
    // Not valid addresses.
    "",
    "localhost",
    "fe80::1%eth0",
    "127.1",
    "0x7f.0.0.1",
    "1.2.3.4.5",
    "1::2::3",
  ];
  test.each(inside.map((address) => [address]))("'%s', behind a name", async (address) => {
    await using net = startDownloadSetup({
      serve: () => response(),
      names: { "a.example": [[address]] },
    });
    await expectError(net.get("https://a.example/x.png"), "upstream_invalid", closed);
    await expectError(net.get("http://a.example/x.png", fromClient), "invalid_value", closed);
    expect(net.connected).toEqual([]);
  });

  test("nor if the name has public addresses as well", async () => {
    const names = { "a.example": [[publicAddress, "10.0.0.1"]] };
    await using net = startDownloadSetup({ serve: () => response(), names });
    await expectError(net.get("http://a.example/x.png"), "upstream_invalid", closed);
    expect(net.connected).toEqual([]);
  });

  test.each([
    ["http://127.0.0.1/x.png"],
    ["http://127.1/x.png"],
    ["http://0x7f.1/x.png"],
    ["http://2130706433/x.png"],
    ["http://017700000001/x.png"],
    ["http://0/x.png"],
    ["http://[::1]/x.png"],
    ["http://[::]/x.png"],
    ["http://[::ffff:10.0.0.1]/x.png"],
    ["http://[64:ff9b::10.0.0.1]/x.png"],
    ["http://１２７.０.０.１/x.png"],
    ["http://169.254.169.254/latest/meta-data/"],
    ["http://169.254.169.254./latest/meta-data/"],
  ])("in the link itself: %s", async (url) => {
    await using net = startDownloadSetup({ serve: () => response() });
    await expectError(net.get(url), "upstream_invalid", closed);
    expect(net.connected).toEqual([]);
  });

  test.each([
    ["http://localhost/x.png"],
    ["http://LOCALHOST./x.png"],
    ["http://a.localhost/x.png"],
    ["http://printer.local/x.png"],
    ["http://metadata.google.internal/x.png"],
    ["http://router.home.arpa/x.png"],
    ["http://ⓛocalhost/x.png"],
    ["http://minio:9000/b/x.png"],
    ["http://nas.lan/x.png"],
    ["http://wiki.corp/x.png"],
    ["http://tv.home/x.png"],
    ["http://box.localdomain/x.png"],
    ["http://hr.intranet/x.png"],
    ["http://minio.media.svc/x.png"],
    ["http://painter.test./x.png"],
  ])(
    "by a name that has a meaning in private networks only, wherever it resolves to: %s",
    async (url) => {
      const { hostname } = new URL(url);
      await using net = startDownloadSetup({
        serve: () => response(),
        names: { [hostname]: [[publicAddress]] },
      });
      await expectError(net.get(url), "upstream_invalid", closed);
      expect(net.connected).toEqual([]);
    },
  );

  test("a client cannot distinguish a private name from an unknown one", async () => {
    await using net = startDownloadSetup({
      serve: () => response(),
      names: { "a.example": [["10.0.0.1"]] },
    });
    const there = await expectError(
      net.get("http://a.example/x", fromClient),
      "invalid_value",
      closed,
    );
    const absent = await expectError(
      net.get("http://absent.invalid/x", fromClient),
      "invalid_value",
      closed,
    );
    expect(there.body).toEqual(absent.body);
  });
});

describe("only a checked address is connected to", () => {
  test("a name is resolved once, so it cannot resolve to another address the second time (DNS rebinding)", async () => {
    const names = { "a.example": [[publicAddress], ["127.0.0.1"]] };
    await using net = startDownloadSetup({ serve: () => response(), names });
    expect(await net.get("http://a.example/x.png")).toEqual({ kind: "bytes", bytes: png });
    expect(net.lookedUp).toEqual(["a.example"]);
    expect(net.connected).toEqual([publicAddress]);
    expect(net.server.received[0]?.head).toContain("\r\nhost: a.example\r\n");
  });

  test("IPv6 addresses and NAT64 addresses are connected to as well", async () => {
    const translated = `64:ff9b::${publicAddress}`;
    const names = { "a.example": [[otherAddress]], "b.example": [[translated]] };
    await using net = startDownloadSetup({ serve: () => response(), names });
    await net.get("http://a.example/x.png");
    await net.get("http://b.example/x.png");
    await net.get(`http://[${otherAddress}]/x.png`);
    expect(net.connected).toEqual([otherAddress, translated, otherAddress]);
  });

  test("a host with several addresses is reached at the first one that accepts a connection", async () => {
    const names = { "a.example": [[otherAddress, publicAddress]] };
    await using net = startDownloadSetup({
      serve: () => response(),
      names,
      refusing: [otherAddress],
    });
    expect(await net.get("http://a.example/x.png")).toEqual({ kind: "bytes", bytes: png });
    expect(net.connected).toEqual([otherAddress, publicAddress]);
    await using none = startDownloadSetup({
      serve: () => response(),
      names,
      refusing: [otherAddress, publicAddress],
    });
    const getting = none.get("http://a.example/x.png", fromClient);
    await expectError(getting, "invalid_value", /cannot be reached/);
    expect(none.connected).toEqual([otherAddress, publicAddress]);
  });

  test("a redirect is checked like the link itself", async () => {
    const away = ["http://b.example/x.png", "http://10.0.0.1/x.png", "http://localhost:6379/x.png"];
    for (const location of away) {
      const names = { "b.example": [["192.168.0.1"]] };
      await using net = startDownloadSetup({ serve: () => redirect(location), names });
      await expectError(net.get("http://a.example/x.png"), "upstream_invalid", closed);
      expect(net.connected).toEqual([publicAddress]);
    }
  });

  test("a name that a redirect leads back to is resolved and checked again", async () => {
    const names = { "a.example": [[publicAddress], ["127.0.0.1"]] };
    await using net = startDownloadSetup({ serve: () => redirect("/again.png"), names });
    await expectError(net.get("http://a.example/x.png"), "upstream_invalid", closed);
    expect(net.connected).toEqual([publicAddress]);
  });

  test("three redirects are followed, also relative ones, and no fourth", async () => {
    const serve = (last: number) => (_: unknown, path: string) => {
      const at = Number(/\d+/.exec(path)?.[0] ?? 0);
      return at === last
        ? response()
        : redirect(at % 2 ? `${at + 1}.png` : `//b.example/${at + 1}`);
    };
    await using near = startDownloadSetup({ serve: serve(3) });
    expect(await near.get("http://a.example/0")).toEqual({ kind: "bytes", bytes: png });
    await using far = startDownloadSetup({ serve: serve(4) });
    await expectError(far.get("http://a.example/0"), "upstream_invalid", /too many redirects/);
    expect(far.connected.length).toBe(4);
  });
});

describe("only http and https are supported", () => {
  test.each([["file:///etc/passwd"], ["ftp://a.example/x"], ["gopher://a.example/"], ["x"], [""]])(
    "not %s",
    async (url) => {
      await using net = startDownloadSetup({ serve: () => response() });
      await expectError(net.get(url), "upstream_invalid", /not an http or https URL/);
      await using onward = startDownloadSetup({
        serve: () => redirect(url === "x" ? "data:image/png,x" : url),
      });
      if (url === "") return;
      const message = /not an http or https URL/;
      await expectError(onward.get("http://a.example/"), "upstream_invalid", message);
    },
  );

  test.each([[22], [25], [110], [993]])("not port %d", async (port) => {
    await using net = startDownloadSetup({ serve: () => response() });
    await expectError(net.get(`http://a.example:${port}/x.png`), "upstream_invalid", closed);
    expect(net.connected).toEqual([]);
  });

  test("not with credentials in a client's link", async () => {
    await using net = startDownloadSetup({ serve: () => response() });
    const message = /user name or a password/;
    for (const url of ["http://me:secret@a.example/x.png", "http://me@a.example/x.png"]) {
      await expectError(net.get(url, fromClient), "invalid_value", message);
    }
    expect(net.connected).toEqual([]);
  });

  test("with the credentials of an upstream's link, which are sent to its own host only", async () => {
    const serve = ({ head }: { head: string }) =>
      head.includes("host: a.example") ? redirect("http://b.example/y.png") : response();
    await using net = startDownloadSetup({ serve });
    await net.get("http://me:p%40ss@a.example/x.png");
    const [first, second] = net.server.received.map(({ head }) => head);
    expect(first).toContain(`authorization: Basic ${btoa("me:p@ss")}\r\n`);
    expect(second).not.toContain("authorization");
  });

  test("an unknown host is reported if an upstream sent the link", async () => {
    await using net = startDownloadSetup({ serve: () => response() });
    const message = /its host cannot be found/;
    await expectError(net.get("http://absent.invalid/x"), "upstream_unreachable", message);
  });

  test("the gateway's credentials are never sent", async () => {
    await using net = startDownloadSetup({ serve: () => response() });
    await net.get("http://a.example:8080/x.png?signature=abc");
    const { head } = net.server.received[0]!;
    expect(head).toStartWith("GET /x.png?signature=abc HTTP/1.1\r\nhost: a.example:8080\r\n");
    expect(head).not.toMatch(/authorization|cookie|referer|x-/i);
  });
});

describe("trusted hosts may be private", () => {
  test("for one request, by host and port", async () => {
    const names = { localai: [["10.0.0.9"]] };
    await using net = startDownloadSetup({ serve: () => response(), names });
    const options = { trusted: ["localai:8080"] };
    expect(await net.get("http://localai:8080/x.png", options)).toEqual({
      kind: "bytes",
      bytes: png,
    });
    expect(net.connected).toEqual(["10.0.0.9"]);
    await expectError(net.get("http://localai:8081/x.png", options), "upstream_invalid", closed);
    await expectError(net.get("http://10.0.0.9:8080/x.png", options), "upstream_invalid", closed);
    await expectError(net.get("http://localai:8080/x.png"), "upstream_invalid", closed);
  });

  test("for all requests, by host alone, and in any spelling", async () => {
    const names = { "photos.local": [["10.0.0.9"]] };
    const trusted = ["Photos.local", "[::1]:9000"];
    await using net = startDownloadSetup({ serve: () => response(), names, trusted });
    await net.get("http://photos.LOCAL:22/x.png", fromClient);
    await net.get("http://[0::1]:9000/x.png", fromClient);
    expect(net.connected).toEqual(["10.0.0.9", "::1"]);
    await expectError(net.get("http://[::1]:9001/x.png"), "upstream_invalid", closed);
  });

  test("trusted hosts cannot redirect to private hosts that are not trusted", async () => {
    const serve = () => redirect("http://10.0.0.9/admin");
    await using net = startDownloadSetup({ serve, names: { localai: [["10.0.0.9"]] } });
    const options = { trusted: ["localai:80"] };
    await expectError(net.get("http://localai/x.png", options), "upstream_invalid", closed);
    expect(net.connected).toEqual(["10.0.0.9"]);
  });
});
