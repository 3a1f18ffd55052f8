import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openDataFolder } from "../../../local/data-folder.ts";
import { chooseDatabase, otherDatabase } from "../../../local/processes/database.ts";

test("by default the native DynamoDB runs where it is installed, and elsewhere the portable one", () => {
  expect(chooseDatabase(undefined)).toBe("native");
  for (const platform of ["darwin", "win32", "linux"])
    expect(chooseDatabase(undefined, platform, "mips")).toBe("portable");
});

test("the portable one can be chosen anywhere, and the native one only where it is installed", () => {
  expect(chooseDatabase("portable")).toBe("portable");
  expect(() => chooseDatabase("native", "darwin", "arm64")).toThrow(
    /@dynoxide\/darwin-arm64 is not installed/,
  );
});

test("a start with the other database says that it does not read the folder's jobs", () => {
  const dir = mkdtempSync(join(tmpdir(), "minutehand-"));
  const folder = openDataFolder(dir, false);
  expect(otherDatabase("portable", folder)).toBeUndefined();
  writeFileSync(folder.databaseFiles.native, "");
  expect(otherDatabase("native", folder)).toBeUndefined();
  expect(otherDatabase("portable", folder)).toMatch(
    /dynamodb\.sqlite, which this start does not read: --database native reads/,
  );
  folder.release();
  rmSync(dir, { recursive: true });
});
