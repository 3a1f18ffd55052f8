/**
 * `stack-process.ts <CDK project> <data folder> <ledger> <URL for DynamoDB> <URL for SQS>`. The functions call the stack's own emulators by
 * these URLs. Rules fire when the parent says so, so that ticks can be doubled and left out.
 */
import { startEmbeddedStack } from "../../local/embedded-stack.ts";
import { LEDGER_VARIABLE } from "./run-job.ts";

export type StackUp = { readonly url: string; readonly dynamodb: string; readonly sqs: string };
export type FireRules = "tick";

const [root = "", dataDir = "", ledger = "", dynamodb = "", sqs = ""] = process.argv.slice(2);
const stack = await startEmbeddedStack({
  port: 0,
  dataDir,
  root,
  tick: false,
  environment: {
    AWS_ENDPOINT_URL_DYNAMODB: dynamodb,
    AWS_ENDPOINT_URL_SQS: sqs,
    [LEDGER_VARIABLE]: ledger,
  },
  log: (line) => console.log(line),
  progress: (line) => console.error(line),
  onLost: (error) => {
    console.error(error.message);
    process.exit(1);
  },
});
process.on("message", (_: FireRules) => void stack.tick());
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.on(signal, () => void stack.stop().then(() => process.exit()));
process.on("disconnect", () => process.exit());
process.send?.({ url: stack.url, ...stack.endpoints } satisfies StackUp);
