import { takeCoverage } from "node:v8";

// Loaded into the workers of Vitest by lines.ts.
process.on("message", (message: { type?: string }) => {
  if (message?.type === "stop") takeCoverage();
});
