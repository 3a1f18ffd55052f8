import { expect, test } from "vitest";
import { faultsOf } from "../tools/release.ts";

const CHANGELOG = "# Changelog\n\n## Unreleased\n\n## 1.2.3 (2026-03-01)\n\n- A line.\n";
const READY = { version: "1.2.3", changelog: CHANGELOG, hasNotes: true };

test("a tag of the package's version with a changelog and notes can be released", () => {
  expect(faultsOf("v1.2.3", READY)).toEqual([]);
});

test.each([
  ["v1.2.4", READY, "the tag must be v1.2.3, as in package.json, got v1.2.4"],
  ["v1.2.3", { ...READY, changelog: "# Changelog\n\n## Unreleased\n" }, "has no section"],
  [
    "v1.2.3",
    { ...READY, changelog: CHANGELOG.replace("ed\n", "ed\n\n- New.\n") },
    'lines under "Unreleased"',
  ],
  [
    "v1.2.3",
    { ...READY, changelog: "## 1.2.3 (x)\n\n## Unreleased\n\n- New.\n" },
    'lines under "Unreleased"',
  ],
  ["v1.2.3", { ...READY, hasNotes: false }, ".github/release-notes/v1.2.3.md is missing"],
])("%s is refused: %o", (tag, release, fault) => {
  expect(faultsOf(tag, release).join("\n")).toContain(fault);
});
