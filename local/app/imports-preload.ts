/**
 * By `--import` in each Node process of a CDK app: at its end appends the URLs of imports, without packages, to `MINUTEHAND_IMPORTS_FILE`.
 */
import { appendFileSync } from "node:fs";
import * as modules from "node:module";

const file = process.env.MINUTEHAND_IMPORTS_FILE;
const urls = new Set<string>();

// An older Node has no `registerHooks`. Then the runner does not know the app's imports, and synthesises after each save.
modules.registerHooks?.({
  resolve(specifier, context, nextResolve) {
    const resolved = nextResolve(specifier, context);
    if (resolved.url.startsWith("file:") && !resolved.url.includes("/node_modules/")) {
      // Tools such as tsx add a query.
      urls.add(resolved.url.replace(/[?#].*/, ""));
    }
    return resolved;
  },
});

process.on("exit", () => {
  if (file !== undefined && urls.size > 0) appendFileSync(file, `${[...urls].join("\n")}\n`);
});
