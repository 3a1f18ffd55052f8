const IN_PACKAGES = /([\\/]node_modules[\\/]).*/;

/** Says whether a file belongs to an installed package, or is npm's list of the installed packages. */
export function isOfPackages(path: string): boolean {
  return IN_PACKAGES.test(path);
}

/** Replaces the files of packages by npm's list of what is installed: an install changes both. Answers each path once. */
export function withoutPackages(paths: readonly string[]): string[] {
  return [...new Set(paths.map((path) => path.replace(IN_PACKAGES, "$1.package-lock.json")))];
}
