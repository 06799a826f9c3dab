/** HTTPS from the command line: what the start prints, and why it fails. */
import { expect, test } from "bun:test";
import { configFor, startProcess, temporaryFolder } from "../harness.ts";
import { testsWith } from "../programs.ts";
import { certificateFiles, newCertificate } from "./tls-fixture.ts";

testsWith(["openssl"], import.meta.file, () => {
  const yaml = configFor("http://127.0.0.1:9/v1");

  test("the startup message of a gateway with a certificate names https URLs", async () => {
    using folder = temporaryFolder();
    const certificate = newCertificate();
    const { settings } = certificateFiles(folder.path, certificate);
    const gateway = await startProcess({ folder: folder.path, yaml, env: settings });
    expect(gateway.url).toStartWith("https://127.0.0.1:");
    expect(gateway.output()).toContain(`curl ${gateway.url}/v1/`);
    const health = await fetch(`${gateway.url}/healthz`, { tls: { ca: certificate.cert } });
    expect(health.status).toBe(200);
    gateway.kill("SIGTERM");
    expect(await gateway.exited).toBe(0);
  });

  test("a gateway does not start with a key of another certificate, and says why", async () => {
    using folder = temporaryFolder();
    const { settings } = certificateFiles(folder.path, {
      cert: newCertificate().cert,
      key: newCertificate().key,
    });
    const start = startProcess({ folder: folder.path, yaml, env: settings });
    await expect(start).rejects.toThrow(/exit code 1\)[\s\S]*does not belong to the certificate/);
  });
});
