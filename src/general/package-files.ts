const IN_PACKAGES = /([\\/]node_modules[\\/]).*/;

/** Also true for npm's list of the installed packages. */
export function isOfPackages(path: string): boolean {
  return IN_PACKAGES.test(path);
}

/** An install changes files of packages and npm's list, so the list stands for them. Each path once. */
export function withoutPackages(paths: readonly string[]): string[] {
  return [...new Set(paths.map((path) => path.replace(IN_PACKAGES, "$1.package-lock.json")))];
}
