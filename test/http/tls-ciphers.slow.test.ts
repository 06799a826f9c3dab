/** The cipher suites of HTTPS, as OpenSSL's client negotiates them. */
import { expect, test } from "bun:test";
import { createCertificate } from "../certificate-fixture.ts";
import { temporaryFolder } from "../harness.ts";
import { pathOf, testsWith } from "../programs.ts";
import { startGatewayWithFake } from "./gateway-fixture.ts";
import { certificateFiles } from "./tls-fixture.ts";

testsWith(["openssl"], import.meta.file, () => {
  /** The cipher suite that the client and the server agree on. Undefined if the handshake fails. */
  async function negotiated(url: string, options: readonly string[]): Promise<string | undefined> {
    const client = Bun.spawn(
      [pathOf("openssl"), "s_client", "-connect", new URL(url).host, ...options],
      { stdin: "ignore", stdout: "pipe", stderr: "ignore" },
    );
    const output = await client.stdout.text();
    await client.exited;
    const cipher = /Cipher is (\S+)/.exec(output)?.[1];
    return cipher === "(NONE)" ? undefined : cipher;
  }

  const keys = {
    RSA: ["-newkey", "rsa:2048"],
    ECDSA: ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
  } as const;

  for (const [kind, options] of Object.entries(keys)) {
    test(`TLS 1.2 with an ${kind} certificate has forward secrecy and no CBC`, async () => {
      using folder = temporaryFolder();
      const certificate = createCertificate(folder.path, options);
      const { settings } = certificateFiles(folder.path, certificate);
      await using edge = startGatewayWithFake({ settings });
      const { url } = edge.gateway;
      // Security level 0: the client itself accepts every suite.
      const tls12 = (ciphers: string) =>
        negotiated(url, ["-tls1_2", "-cipher", `${ciphers}:@SECLEVEL=0`]);
      for (const suite of ["AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305"]) {
        const name = `ECDHE-${kind}-${suite}`;
        expect(await tls12(name)).toBe(name);
      }
      // Static RSA; CBC; both.
      for (const refused of ["kRSA", "ECDHE:!AESGCM:!CHACHA20", "AES128-SHA:AES256-SHA"]) {
        expect([refused, await tls12(refused)]).toEqual([refused, undefined]);
      }
      expect(await negotiated(url, ["-tls1_3"])).toStartWith("TLS_");
      for (const version of ["-tls1", "-tls1_1"]) {
        expect(await negotiated(url, [version, "-cipher", "ALL:@SECLEVEL=0"])).toBeUndefined();
      }
    });
  }
});
