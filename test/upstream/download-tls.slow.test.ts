/** A certificate is verified against the host name of the link: the right address proves nothing. */
import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createRequestTemp } from "../../server/temp-storage/request-temp.ts";
import type { CollectedImage } from "../../server/upstream/collect-image.ts";
import { createDownload } from "../../server/upstream/download/download.ts";
import { temporaryFolder } from "../harness.ts";
import { testsWith } from "../programs.ts";
import { expectError, fromClient, largePng, png, publicAddress } from "./download-fixture.ts";

testsWith(["openssl"], import.meta.file, () => {
  const folder = temporaryFolder();
  const at = (name: string): string => join(folder.path, name);

  function openssl(...args: string[]): void {
    const { exitCode, stderr } = Bun.spawnSync(["openssl", ...args], { cwd: folder.path });
    if (exitCode !== 0) throw new Error(stderr.toString());
  }

  const fresh = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];

  function signedByItself(name: string, subject: string, ...more: string[]): void {
    const files = ["-keyout", `${name}.key`, "-out", `${name}.pem`];
    openssl("req", "-x509", ...fresh, "-days", "2", "-subj", `/CN=${subject}`, ...files, ...more);
  }

  function signedByOurs(name: string, subject: string, days = "2"): void {
    openssl("req", ...fresh, "-subj", "/CN=x", "-keyout", `${name}.key`, "-out", `${name}.csr`);
    writeFileSync(at(`${name}.ext`), `subjectAltName=${subject}`);
    const by = ["-CA", "ours.pem", "-CAkey", "ours.key", "-CAcreateserial", "-days", days];
    const files = ["-in", `${name}.csr`, "-extfile", `${name}.ext`, "-out", `${name}.pem`];
    openssl("x509", "-req", ...by, ...files);
  }

  signedByItself("ours", "ours", "-addext", "basicConstraints=critical,CA:TRUE");
  signedByOurs("right", "DNS:pictures.example");
  signedByOurs("wrong", "DNS:elsewhere.example");
  signedByOurs("old", "DNS:pictures.example", "0");
  signedByOurs("address", `IP:${publicAddress},IP:127.0.0.1`);
  signedByItself("nobody", "pictures.example", "-addext", "subjectAltName=DNS:pictures.example");
  const ca = readFileSync(at("ours.pem"), "utf8");

  interface Host {
    readonly requestedHosts: string[];
    get(url: string, call?: typeof fromClient, trust?: string): Promise<CollectedImage>;
    [Symbol.asyncDispose](): Promise<void>;
  }

  /** Every address leads to a host with this certificate. */
  function host(certificate: string): Host {
    const requestedHosts: string[] = [];
    const temp = createRequestTemp(folder.path);
    const server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      tls: { cert: Bun.file(at(`${certificate}.pem`)), key: Bun.file(at(`${certificate}.key`)) },
      fetch: (request) => {
        requestedHosts.push(request.headers.get("host") ?? "");
        return new Response(request.url.endsWith("/large") ? largePng : png);
      },
    });
    return {
      requestedHosts,
      get: (url, call, trust = ca) =>
        createDownload({
          maxBytes: 1_000_000,
          timeoutMs: 5000,
          ...(trust !== "" && { ca: trust }),
          resolve: async () => [publicAddress],
          connect: (options) =>
            Bun.connect({ ...options, hostname: "127.0.0.1", port: server.port ?? 0 }),
        })(url, { signal: new AbortController().signal, temp, origin: "upstream", ...call }),
      [Symbol.asyncDispose]: async () => {
        await server.stop(true);
        await temp.clear();
      },
    };
  }

  afterAll(() => folder[Symbol.dispose]());

  describe("a host is trusted", () => {
    test("with a certificate for the name in the link", async () => {
      await using right = host("right");
      const url = "https://pictures.example/x.png";
      expect(await right.get(url)).toEqual({ kind: "bytes", bytes: png });
      const large = await right.get("https://pictures.example./large");
      expect(large).toMatchObject({ kind: "spilled", spilled: { length: largePng.length } });
      expect(right.requestedHosts).toEqual(["pictures.example", "pictures.example"]);
    });

    test("with a certificate for the address, where the link has no name", async () => {
      await using address = host("address");
      const url = `https://${publicAddress}/x.png`;
      expect(await address.get(url)).toEqual({ kind: "bytes", bytes: png });
    });
  });

  describe("a host is not trusted, and gets no request", () => {
    const message = /cannot be reached/;
    test.each([
      ["for another name", "wrong", ca, "ERR_TLS_CERT_ALTNAME_INVALID"],
      ["that is self-signed", "nobody", ca, "DEPTH_ZERO_SELF_SIGNED_CERT"],
      ["that has expired", "old", ca, "CERT_HAS_EXPIRED"],
      ["for its address and not its name", "address", ca, "ERR_TLS_CERT_ALTNAME_INVALID"],
      [
        "of someone that this machine does not know",
        "right",
        "",
        "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
      ],
    ])("with a certificate %s", async (_, certificate, trust, code) => {
      await using impostor = host(certificate);
      const url = "https://pictures.example/x.png";
      const error = await expectError(
        impostor.get(url, fromClient, trust),
        "invalid_value",
        message,
      );
      expect(error.details.logDetail).toBe(`pictures.example: ${code}`);
      expect(impostor.requestedHosts).toEqual([]);
    });

    test("with a certificate for a name, if the link has an IP address", async () => {
      await using right = host("right");
      const url = `https://${publicAddress}/x.png`;
      await expectError(right.get(url, fromClient), "invalid_value", message);
      expect(right.requestedHosts).toEqual([]);
    });
  });
});
