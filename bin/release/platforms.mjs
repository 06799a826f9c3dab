// The platforms of the executables and images.
export const platforms = [
  {
    name: "linux-x64",
    cpu: "x64",
    debian: "amd64",
    bunPackage: "@oven/bun-linux-x64",
    bunTarget: "bun-linux-x64",
  },
  {
    name: "linux-arm64",
    cpu: "arm64",
    debian: "arm64",
    bunPackage: "@oven/bun-linux-aarch64",
    bunTarget: "bun-linux-arm64",
  },
];

/** Whether a package of package-lock.json is for this platform. All of ours have glibc. */
export function isFor(platform, { os, cpu, libc }) {
  const allows = (list, value) => list === undefined || list.includes(value);
  return allows(os, "linux") && allows(cpu, platform.cpu) && allows(libc, "glibc");
}
