/** A data folder on a disk that is full or read-only. */
import { afterEach, describe, expect, test } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startFake } from "../fake-upstream.ts";
import { configFor, readLedger, startProcess, temporaryFolder } from "../harness.ts";
import { bearer, editForm, embeddingModel, expectError, png } from "../http/gateway-fixture.ts";
import { mayMount, mount, unmount } from "../storage/small-disk.ts";
import { until } from "../until.ts";
import { cleanUp, cleanUps, failedStart } from "./unwritable-ledger-fixture.ts";

afterEach(cleanUp);

/** These tests mount a tmpfs, which can really be full. */
if (mayMount()) {
  describe("on a disk of three megabytes", () => {
    const smallDisk = () => {
      const folder = temporaryFolder();
      const disk = join(folder.path, "data");
      mkdirSync(disk);
      expect(mount("-t", "tmpfs", "-o", "size=3m", "tmpfs", disk)).toBe(true);
      cleanUps.push(() => {
        unmount(disk);
        folder[Symbol.dispose]();
      });
      return { folder: folder.path, disk };
    };

    test("that is full, requests and uploads are refused, and served again when there is space", async () => {
      const { folder, disk } = smallDisk();
      const fake = startFake();
      cleanUps.push(() => fake.close());
      const gateway = await startProcess({ folder, yaml: configFor(fake.url) });
      cleanUps.push(() => gateway.close());
      const embed = () => gateway.post("/v1/embeddings", { model: embeddingModel, input: "a" });
      const large = new Uint8Array(1_400_000);
      large.set(png);
      const edit = () =>
        fetch(`${gateway.url}/v1/images/edits`, {
          method: "POST",
          headers: bearer,
          body: editForm(large),
        });
      expect((await embed()).status).toBe(200);
      expect((await edit()).status).toBe(200);

      // Space for rows, but not for an upload.
      writeFileSync(join(disk, "ballast"), new Uint8Array(1_900_000));
      await expectError(await edit(), "storage_unavailable");
      expect((await embed()).status).toBe(200);

      const fillUp = () =>
        Bun.spawnSync(["dd", "if=/dev/zero", `of=${join(disk, "more")}`, "bs=4k"], {
          stderr: "ignore",
        });
      let refused: Response | undefined;
      for (let i = 0; i < 50 && refused === undefined; i++) {
        fillUp();
        const response = await embed();
        if (response.status !== 200) refused = response;
      }
      await expectError(refused!, "ledger_unavailable");
      const ready = await fetch(`${gateway.url}/readyz`);
      expect(ready.status).toBe(503);
      expect(await ready.json()).toMatchObject({ ledger: "unwritable", data_folder: "full" });
      await until(() => gateway.output().includes("ledger-unwritable"));

      for (const name of ["ballast", "more"]) rmSync(join(disk, name));
      await until(() => gateway.output().includes("ledger-recovered"));
      expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200);
      expect((await embed()).status).toBe(200);
      expect((await edit()).status).toBe(200);
      // If it was refused after the upstream request, the row has its usage.
      const rows = readLedger(disk);
      const id = refused!.headers.get("x-request-id");
      const row = rows.find(({ requestId }) => requestId === id);
      if (row) expect(row).toMatchObject({ status: 503, inputTokens: 1 });
      expect(rows.filter(({ endpoint }) => endpoint === "embeddings")).toHaveLength(
        fake.requests.filter(({ path }) => path.endsWith("/embeddings")).length,
      );
    });

    test("that is read-only, the start ends with exit code 1 and a clear line", async () => {
      const { folder, disk } = smallDisk();
      expect(mount("-o", "remount,ro", disk)).toBe(true);
      const { code, err } = await failedStart(disk, folder);
      expect(code).toBe(1);
      expect(err).toContain(disk);
      expect(err).not.toContain("    at ");
    });

    test("that becomes read-only between two starts, the second start ends with exit code 1", async () => {
      const { folder, disk } = smallDisk();
      const gateway = await startProcess({ folder });
      gateway.kill("SIGTERM");
      expect(await gateway.exited).toBe(0);
      expect(mount("-o", "remount,ro", disk)).toBe(true);
      const { code, err } = await failedStart(disk, folder);
      expect(code).toBe(1);
      expect(err).toContain(disk);
    });
  });
}
