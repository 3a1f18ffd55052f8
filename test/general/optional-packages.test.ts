import { expect, test } from "vitest";
import { missingPackages } from "../../src/general/optional-packages.ts";

test("names every package that is missing, and the command that installs the right versions", () => {
  const sentence = missingPackages("minutehand local", ["fauxqs", "esbuild"], () => false);
  expect(sentence).toMatch(
    /^minutehand local needs the npm packages fauxqs and esbuild, which are not installed: npm install --save-dev fauxqs@\d+\.\d+\.\d+ "esbuild@>=[^"]+"$/,
  );
});

test("names only what is missing, and nothing where all is installed", () => {
  const sentence = missingPackages("addHandler", ["fauxqs", "esbuild"], (name) => name === "esbuild");
  expect(sentence).toMatch(
    /^addHandler needs the npm package fauxqs, which is not installed: npm install --save-dev fauxqs@\S+$/,
  );
  expect(missingPackages("addHandler", ["fauxqs", "esbuild"])).toBeUndefined();
});
