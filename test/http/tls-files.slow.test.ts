/** Files of the TLS certificate: each pair is either refused with a reason, or TLS handshakes work with it. */
import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { readCertificate } from "../../server/http/certificate.ts";
import { type Certificate, createCertificate, openssl } from "../certificate-fixture.ts";
import { configFor, startGateway, temporaryFolder } from "../harness.ts";
import { testsWith } from "../programs.ts";
import { until } from "../until.ts";
import { echo, get, serve } from "./http-server-fixture.ts";
import { certificateFiles, connectTls, newCertificate, requestOver } from "./tls-fixture.ts";

testsWith(["openssl"], import.meta.file, () => {
  const folder = temporaryFolder();
  afterAll(() => folder[Symbol.dispose]());

  const authority = createCertificate(folder.path, ["-subj", "/CN=authority"]);
  writeFileSync(join(folder.path, "ca.pem"), authority.cert);
  writeFileSync(join(folder.path, "ca.key"), authority.key);
  const own = createCertificate(folder.path, [
    ...["-CA", "ca.pem", "-CAkey", "ca.key"],
    ...["-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE"],
  ]);
  const other = newCertificate();
  const withOptions = (...options: string[]): Certificate =>
    createCertificate(folder.path, options);
  const pkcs8Encrypted = openssl(
    folder.path,
    ["pkcs8", "-topk8", "-passout", "pass:secret"],
    own.key,
  );
  const sec1Encrypted = openssl(folder.path, ["ec", "-aes128", "-passout", "pass:secret"], own.key);
  const begin = "-----BEGIN CERTIFICATE-----\n";
  const end = "-----END CERTIFICATE-----\n";
  const damaged = (at: string, reason: string): string =>
    `server.crt: certificate ${at} is incomplete or damaged (${reason}).`;
  const unusable = (reason: string): string =>
    `server.key (VEXEL_TLS_KEY) cannot be used for TLS (${reason}).`;
  const notOwn = "server.key (VEXEL_TLS_KEY) does not belong to the certificate in";

  const refused: readonly (readonly [name: string, files: Partial<Certificate>, reason: string])[] =
    [
      [
        "a chain that is cut off",
        { cert: own.cert + authority.cert.slice(0, 300) },
        damaged("2 of 2", "BAD_END_LINE"),
      ],
      [
        "a chain that ends with a first line",
        { cert: own.cert + begin },
        damaged("2 of 2", "BAD_END_LINE"),
      ],
      [
        "an empty certificate in a chain",
        { cert: own.cert + begin + end },
        damaged("2 of 2", "NO_DATA"),
      ],
      [
        "a chain with bytes that are no base64",
        { cert: own.cert + authority.cert.replace(begin, `${begin}!!!!`) },
        damaged("2 of 2", "BAD_BASE64_DECODE"),
      ],
      [
        "a chain with bytes that are no certificate",
        { cert: `${own.cert}${begin}AAAAAAAA\n${end}${authority.cert}` },
        damaged("2 of 3", "DECODE_ERROR"),
      ],
      [
        "a certificate that is cut off",
        { cert: own.cert.slice(0, 300) },
        damaged("1 of 1", "BAD_END_LINE"),
      ],
      [
        "certificates without a line break in between",
        { cert: own.cert.trimEnd() + authority.cert },
        damaged("1 of 1", "BAD_END_LINE"),
      ],
      [
        "a certificate with a part of a private key behind it",
        { cert: own.cert + own.key.slice(0, 100) },
        unusable("BAD_END_LINE"),
      ],
      ["a chain with the authority first", { cert: authority.cert + own.cert }, notOwn],
      ["only the certificate of the authority", { cert: authority.cert }, notOwn],
      ["an empty certificate file", { cert: "" }, "server.crt is empty."],
      ["an empty key file", { key: "\n" }, "server.key is empty."],
      ["a chain with a NUL byte", { cert: `${own.cert}\0${authority.cert}` }, "it has a NUL byte"],
      ["a key that is encrypted (PKCS #8)", { key: pkcs8Encrypted }, "server.key is encrypted."],
      ["a key that is encrypted (SEC 1)", { key: sec1Encrypted }, "server.key is encrypted."],
      [
        "a key that is cut off",
        { key: own.key.slice(0, 120) },
        "is not a private key in PEM format.",
      ],
      [
        "a certificate of a curve that TLS does not have",
        withOptions("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-224"),
        unusable("UNSUPPORTED_ALGORITHM"),
      ],
      [
        "a certificate that may only sign certificates",
        withOptions("-addext", "keyUsage=critical,keyCertSign"),
        unusable("KEY_USAGE_BIT_INCORRECT"),
      ],
      ["a key that is too short", withOptions("-newkey", "rsa:512"), "is an RSA key of 512 bits."],
      [
        "a key of another type",
        withOptions("-newkey", "ed448"),
        "unsupported type of private key.",
      ],
    ];

  const accepted: readonly (readonly [name: string, files: Partial<Certificate>])[] = [
    ["a chain", { cert: own.cert + authority.cert }],
    [
      "a chain in another order behind the own certificate",
      { cert: own.cert + other.cert + authority.cert },
    ],
    [
      "text around certificates",
      { cert: `subject=a\n${own.cert}\nsubject=b\n${authority.cert}end\n` },
    ],
    ["no line break at the end", { cert: own.cert.trimEnd(), key: own.key.trimEnd() }],
    [
      "CRLF line breaks",
      { cert: own.cert.replaceAll("\n", "\r\n"), key: own.key.replaceAll("\n", "\r\n") },
    ],
    ["text behind the key", { key: `${own.key}garbage\n` }],
    ["a part of a key behind the key", { key: own.key + other.key.slice(0, 100) }],
    [
      "the key and the certificate in both files",
      { cert: own.cert + own.key, key: own.cert + own.key },
    ],
  ];

  const filesOf = (pair: Partial<Certificate>) => {
    const target = temporaryFolder();
    const { settings } = certificateFiles(target.path, { ...own, ...pair });
    const { VEXEL_TLS_CERT: certPath, VEXEL_TLS_KEY: keyPath } = settings;
    return { certPath, keyPath, [Symbol.dispose]: () => target[Symbol.dispose]() };
  };

  describe("at the start", () => {
    test.each(refused)("%s is refused, with the file and the reason", (_, pair, reason) => {
      using files = filesOf(pair);
      expect(() => readCertificate(files)).toThrow(reason);
    });

    test.each(accepted)("%s: handshakes and requests work", async (_, pair) => {
      using files = filesOf(pair);
      const certificate = readCertificate(files);
      await using served = serve(echo, { tls: () => certificate });
      const socket = await connectTls({ port: served.server.port, ca: authority.cert });
      expect(await requestOver(socket, get("/a"), "]")).toStartWith("HTTP/1.1 200");
      socket.destroy();
      expect(served.errors).toEqual([]);
    });
  });

  describe("at a reload", () => {
    const target = temporaryFolder();
    const files = certificateFiles(target.path, own);
    const yaml = configFor("http://127.0.0.1:9/v1");
    const gateway = startGateway({ yaml, settings: files.settings });
    afterAll(async () => {
      await gateway.close();
      target[Symbol.dispose]();
    });
    const port = Number(new URL(gateway.url).port);
    const serves = async (): Promise<void> => {
      const socket = await connectTls({ port, ca: authority.cert });
      expect(await requestOver(socket, get("/healthz"), '{"status":"ok"}')).toStartWith(
        "HTTP/1.1 200",
      );
      socket.destroy();
    };
    /** Writes the files, and waits for this text in the log. The files change one after the other. */
    const logged = async (pair: Partial<Certificate>, text: string): Promise<void> => {
      const before = gateway.log();
      files.write({ ...own, ...pair });
      await until(() => gateway.log().slice(before.length).includes(text));
    };

    // A reload reads the files as the start does, so one case of each file, and one of the pair, is enough.
    const rejected = ["a chain that is cut off", "an empty key file", "a key that is too short"];
    test.each(refused.filter(([name]) => rejected.includes(name)))(
      "%s is rejected, and the old certificate stays in use",
      async (_, pair, reason) => {
        await logged(pair, reason);
        await serves();
        await logged(own, "certificate-reloaded");
        await serves();
      },
    );

    test("an expired certificate is rejected while the old one is valid", async () => {
      writeFileSync(join(folder.path, "own.key"), own.key);
      const request = openssl(folder.path, ["req", "-new", "-key", "own.key", "-subj", "/CN=test"]);
      const sign = ["x509", "-req", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"];
      const cert = openssl(folder.path, [...sign, "-days", "-1"], request);
      await logged({ cert }, "server.crt (VEXEL_TLS_CERT) expired on");
      await serves();
      await logged(own, "certificate-reloaded");
    });
  });
});
