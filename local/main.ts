import { runLocal } from "./run.ts";

await runLocal(process.argv.slice(2));
