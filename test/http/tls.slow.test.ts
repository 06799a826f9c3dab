/** HTTPS: handshakes, certificates and plain HTTP on the HTTPS port. */
import { afterAll, describe, expect, test } from "bun:test";
import OpenAI, { toFile } from "openai";
import type { AttentionItem, Overview } from "../../contract/admin.ts";
import { readCertificate } from "../../server/http/certificate.ts";
import type { HttpServer } from "../../server/http/server/http-server.ts";
import { readSettings } from "../../server/settings.ts";
import { temporaryFolder, testKey } from "../harness.ts";
import { testsWith } from "../programs.ts";
import { until } from "../until.ts";
import {
  embeddingModel,
  embeddingsText,
  imageModel,
  png,
  startGatewayWithFake,
} from "./gateway-fixture.ts";
import { echo, gate, get, respondWith, serve } from "./http-server-fixture.ts";
import { certificateFiles, connectTls, newCertificate, requestOver } from "./tls-fixture.ts";

testsWith(["openssl"], import.meta.file, () => {
  const first = newCertificate();
  const second = newCertificate();
  const portOf = (url: string): number => Number(new URL(url).port);

  describe("a gateway with a certificate", () => {
    const folder = temporaryFolder();
    const { settings } = certificateFiles(folder.path, first);
    const { gateway, close } = startGatewayWithFake({ settings });
    afterAll(async () => {
      await close();
      folder[Symbol.dispose]();
    });
    const client = new OpenAI({
      baseURL: gateway.baseURL,
      apiKey: testKey,
      maxRetries: 0,
      fetchOptions: { tls: { ca: first.cert } },
    });

    test("serves the official SDK over https: embeddings, images, streams and uploads", async () => {
      expect(gateway.url).toStartWith("https://127.0.0.1:");
      const { data } = await client.embeddings.create({ model: embeddingModel, input: ["a", "b"] });
      expect(data).toHaveLength(2);
      const image = await client.images.generate({ model: imageModel, prompt: "a boat" });
      expect(image.data?.[0]?.b64_json).toBeString();
      const stream = await client.images.generate({
        model: imageModel,
        prompt: "a boat",
        stream: true,
      });
      const types: string[] = [];
      for await (const { type } of stream) types.push(type);
      expect(types.at(-1)).toBe("image_generation.completed");
      const edited = await client.images.edit({
        model: imageModel,
        prompt: "a red boat",
        image: await toFile(png, "boat.png", { type: "image/png" }),
      });
      expect(edited.data?.[0]?.b64_json).toBeString();
    });

    test("is not trusted by a client without the certificate authority", async () => {
      const stranger = new OpenAI({ baseURL: gateway.baseURL, apiKey: testKey, maxRetries: 0 });
      const outcome: unknown = await stranger.models.list().then(
        () => "trusted",
        (error: unknown) => error,
      );
      expect(outcome).toBeInstanceOf(OpenAI.APIConnectionError);
    });

    test("has https in its own URLs, also without a proxy", async () => {
      const { data } = await client.images.generate({
        model: imageModel,
        prompt: "a boat",
        response_format: "url",
      });
      expect(data?.[0]?.url).toStartWith(`${gateway.url}/`);
    });
  });

  describe("a certificate that is renewed", () => {
    const fingerprintOf = async (port: number, ca: string): Promise<string> => {
      const socket = await connectTls({ port, ca });
      const { fingerprint256 } = socket.getPeerCertificate();
      socket.destroy();
      return fingerprint256;
    };

    test("is used for new connections, and no open connection or request in flight is cut", async () => {
      using folder = temporaryFolder();
      const files = certificateFiles(folder.path, first);
      await using edge = startGatewayWithFake({ settings: files.settings });
      const { fake, gateway } = edge;
      const port = portOf(gateway.url);
      const before = await fingerprintOf(port, first.cert);
      const kept = await connectTls({ port, ca: first.cert });
      fake.script({ delayMs: 2000 });
      const pending = requestOver(kept, embeddingsText("in flight"), "}");
      await fake.arrived(1);

      files.write(second);
      await until(() => gateway.log().includes("certificate-reloaded"));
      const after = await fingerprintOf(port, second.cert);
      expect(after).not.toBe(before);
      await expect(connectTls({ port, ca: first.cert })).rejects.toThrow();

      expect(await pending).toStartWith("HTTP/1.1 200 OK");
      expect(await requestOver(kept, get("/healthz"), '{"status":"ok"}')).toStartWith(
        "HTTP/1.1 200",
      );
      kept.destroy();
    });

    test("with another certificate's key is rejected, and the old certificate stays in use", async () => {
      using folder = temporaryFolder();
      const files = certificateFiles(folder.path, first);
      await using edge = startGatewayWithFake({ settings: files.settings });
      const { gateway } = edge;
      const before = await fingerprintOf(portOf(gateway.url), first.cert);
      files.write({ key: second.key });
      await until(() => gateway.log().includes("certificate-rejected"));
      expect(gateway.log()).toContain("does not belong to the certificate");
      expect(gateway.log()).not.toContain("PRIVATE KEY-");
      expect(await fingerprintOf(portOf(gateway.url), first.cert)).toBe(before);
      // The other half of the pair follows.
      files.write({ cert: second.cert });
      await until(() => gateway.log().includes("certificate-reloaded"));
      expect(await fingerprintOf(portOf(gateway.url), second.cert)).not.toBe(before);
    });

    test("that is rejected needs attention until the files are valid again", async () => {
      using folder = temporaryFolder();
      const files = certificateFiles(folder.path, first);
      const settings = { ...files.settings, VEXEL_ADMIN_TOKEN: "admin-0123456789abcdef" };
      await using edge = startGatewayWithFake({ settings });
      const rejected = async (): Promise<readonly AttentionItem[]> => {
        const response = await fetch(`${edge.gateway.url}/admin/api/overview`, {
          headers: { authorization: `Bearer ${settings.VEXEL_ADMIN_TOKEN}` },
          tls: { ca: first.cert },
        });
        const { attention } = (await response.json()) as Overview;
        return attention.find(({ type }) => type === "config_rejected")?.items ?? [];
      };
      expect(await rejected()).toEqual([]);
      files.write({ key: second.key });
      await until(async () => (await rejected()).length > 0);
      expect(await rejected()).toEqual([
        expect.objectContaining({
          subject: "TLS certificate",
          detail: expect.stringContaining("The previous certificate stays in force."),
        }),
      ]);
      // The certificate that is in use.
      files.write(first);
      await until(async () => (await rejected()).length === 0);
    });
  });

  describe("an HTTPS server", () => {
    const tls = () => first;
    const connectTo = ({ port }: HttpServer, alpn?: readonly string[]) =>
      connectTls({ port, ca: first.cert, ...(alpn && { alpn }) });

    test("tells a client that speaks plain HTTP to use https", async () => {
      await using served = serve(echo, { tls });
      const connection = await served.connect(get("/"));
      const { status, body } = await connection.response();
      expect(status).toBe(400);
      expect(JSON.parse(body)).toMatchObject({ error: { code: "invalid_http" } });
      expect(body).toContain("https://, not http://");
      await connection.closed;
      expect(served.errors).toEqual([]);
    });

    test.each([
      ["bytes that are neither TLS nor HTTP", "\x00\x01\x02 nonsense"],
      ["an incomplete ClientHello", "\x16\x03\x01\x02\x00\x01"],
    ])("closes a connection with %s, and serves others", async (_, bytes) => {
      await using served = serve(echo, { tls, idleMs: 400 });
      const connection = await served.connect(Buffer.from(bytes, "latin1"));
      await connection.closed;
      const socket = await connectTo(served.server);
      expect(await requestOver(socket, get("/a"), "]")).toContain('["GET","/a",""]');
      socket.destroy();
      expect(served.errors).toEqual([]);
    });

    test("offers HTTP/1.1 and 1.0, and not HTTP/2", async () => {
      await using served = serve(echo, { tls });
      const socket = await connectTo(served.server, ["h2", "http/1.1"]);
      expect(socket.alpnProtocol).toBe("http/1.1");
      socket.destroy();
      await expect(connectTo(served.server, ["h2"])).rejects.toThrow();
      // curl --http1.0 offers nothing else.
      const older = await connectTo(served.server, ["http/1.0"]);
      expect(older.alpnProtocol).toBe("http/1.0");
      older.destroy();
    });

    test("refuses TLS 1.1 and accepts TLS 1.2 and 1.3", async () => {
      await using served = serve(echo, { tls });
      const handshake = async (version: string): Promise<string> => {
        const address = `127.0.0.1:${served.server.port}`;
        const arguments_ = ["s_client", "-connect", address, version, "-cipher", "ALL@SECLEVEL=0"];
        const child = Bun.spawn(["openssl", ...arguments_], { stdin: "ignore", stderr: "pipe" });
        const text = await Promise.all([
          new Response(child.stdout).text(),
          new Response(child.stderr).text(),
        ]);
        return text.join("");
      };
      expect(await handshake("-tls1_1")).toContain("alert protocol version");
      expect(await handshake("-tls1_2")).toContain("Protocol  : TLSv1.2");
      expect(await handshake("-tls1_3")).toContain("TLSv1.3");
    });

    test("closes a handshake that is slow, although bytes of it keep arriving", async () => {
      await using served = serve(echo, { tls, idleMs: 600 });
      const connection = await served.connect(Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01]));
      const trickle = setInterval(() => connection.send(Buffer.from([0])), 50);
      await connection.closed;
      clearInterval(trickle);
      await until(() => served.server.connections().open === 0);
    });

    test("counts handshakes against the connection limit, and lets a client with a request in", async () => {
      await using served = serve(echo, { tls, maxConnections: 3 });
      const silent = await Promise.all(Array.from({ length: 3 }, () => served.connect()));
      await until(() => served.server.connections().open === 3);
      const socket = await connectTo(served.server);
      expect(await requestOver(socket, get("/"), "]")).toStartWith("HTTP/1.1 200");
      expect(served.server.connections().evicted).toBe(1);
      await until(() => silent.filter(({ isClosed }) => isClosed).length === 1);
      socket.destroy();
    });

    test("stops although handshakes are not complete", async () => {
      await using served = serve(echo, { tls });
      await Promise.all(Array.from({ length: 3 }, () => served.connect()));
      await until(() => served.server.connections().open === 3);
      await served.server.stop(false);
      expect(served.server.connections().open).toBe(0);
    });

    test("a response to a client that disconnects is closed, and its request aborted", async () => {
      const aborted = gate();
      await using served = serve(
        async ({ signal }) => {
          signal.addEventListener("abort", aborted.open);
          await aborted.opened;
          return respondWith("");
        },
        { tls },
      );
      const socket = await connectTo(served.server);
      socket.write(get("/"));
      await until(() => served.server.pending() === 1);
      socket.destroy();
      await aborted.opened;
    });
  });

  describe("the settings of the certificate", () => {
    test.each([
      ["VEXEL_TLS_CERT", "VEXEL_TLS_CERT is set without VEXEL_TLS_KEY"],
      ["VEXEL_TLS_KEY", "VEXEL_TLS_KEY is set without VEXEL_TLS_CERT"],
    ])("%s alone stops the start", (name, message) => {
      expect(() => readSettings({ [name]: "/x" })).toThrow(message);
    });

    test("a file that cannot be used stops the start, and the message names it", () => {
      using folder = temporaryFolder();
      const files = certificateFiles(folder.path, first);
      const { VEXEL_TLS_CERT: cert, VEXEL_TLS_KEY: key } = files.settings;
      const read = () => readCertificate({ certPath: cert, keyPath: key });
      expect(read().cert).toBe(first.cert);
      files.write({ key: second.key });
      expect(read).toThrow(`The private key in ${key} (VEXEL_TLS_KEY) does not belong`);
      files.write({ key: "nonsense" });
      expect(read).toThrow(`VEXEL_TLS_KEY=${key} is not a private key in PEM format.`);
      files.write({ key: "-----BEGIN ENCRYPTED PRIVATE KEY-----\n" });
      expect(read).toThrow(`VEXEL_TLS_KEY=${key} is encrypted.`);
      files.write({ cert: "nonsense" });
      expect(read).toThrow(`VEXEL_TLS_CERT=${cert} is not a certificate in PEM format.`);
      expect(() => readCertificate({ certPath: "/nowhere.crt", keyPath: key })).toThrow(
        "VEXEL_TLS_CERT=/nowhere.crt cannot be read (ENOENT).",
      );
    });
  });

  test("an http:// client still gets a reason from a plain HTTP server when it starts a TLS handshake", async () => {
    await using served = serve(echo);
    const connection = await served.connect();
    connection.send(Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00]));
    expect((await connection.response()).body).toContain("http://, not https://");
  });
});
