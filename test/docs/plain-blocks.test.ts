import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { configFaults, deployedConfig } from "../../infra/plain/config.ts";
import { synthesise } from "../../infra/plain/template.ts";
import { blocks, ROOT } from "./blocks.ts";

/** The blocks that have the content of `minutehand.json`. */
const FILES = blocks()
  .filter(({ kind, text }) => kind === "json" && "topics" in JSON.parse(text))
  .map((block) => ({ ...block, config: JSON.parse(block.text) }));

test.each(["failures", "pause-and-limits", "schedules", "events"])(
  "the guide %s shows its settings as JSON too",
  (page) => {
    expect(FILES.map((block) => block.page)).toContain(`docs/guides/${page}.md`);
  },
);

test.each(FILES)("$page:$line is a file that minutehand template takes", async ({ config }) => {
  expect(configFaults(config)).toEqual([]);
  await using folder = await mkdtempDisposable(join(tmpdir(), "minutehand-"));
  const { stack } = synthesise(deployedConfig(config), ROOT, folder.path);
  expect(stack.messages.filter(({ level }) => level === "error")).toEqual([]);
});
