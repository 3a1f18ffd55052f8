import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** Packages, and megabytes by `diskSpace`: less than half of the 112 and 107 MB from when an install brought the emulators and the bundler. */
export const MOST_PACKAGES = 55;
const MOST_MB = 49;

type Locked = { dev?: boolean; link?: boolean; hasInstallScript?: boolean };

/** The packages that a lock file has for production, by their paths. */
export function productionPackages(lockFile: string): Map<string, Locked> {
  const { packages } = JSON.parse(readFileSync(lockFile, "utf8")) as { packages: Record<string, Locked> };
  return new Map(
    Object.entries(packages).filter(
      ([path, { dev, link }]) => path.startsWith("node_modules/") && !dev && !link,
    ),
  );
}

/** By what a plain install into this folder exceeds the limits, a line for each excess. */
export function excessIn(folder: string): string[] {
  const packages = productionPackages(join(folder, "node_modules", ".package-lock.json"));
  const scripts = [...packages].filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => path);
  const megabytes = diskSpace(join(folder, "node_modules")) / 1e6;
  return [
    ...(packages.size > MOST_PACKAGES ? [`it has ${packages.size} packages; allowed: ${MOST_PACKAGES}`] : []),
    ...(megabytes > MOST_MB ? [`it takes ${megabytes.toFixed(1)} MB; allowed: ${MOST_MB}`] : []),
    ...scripts.map((path) => `${path} runs a script at an install`),
  ];
}

/** Bytes of blocks, as `du` counts them: thousands of small files take more than their contents. */
function diskSpace(folder: string): number {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return files.reduce((sum, file) => {
    const stat = statSync(join(folder, file), { throwIfNoEntry: false });
    return sum + (stat?.isFile() ? stat.blocks * 512 : 0);
  }, 0);
}
