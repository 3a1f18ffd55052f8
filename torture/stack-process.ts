/**
 * The program of the embedded stack, a process of its own like `minutehand local`: `stack-process.ts <CDK project> <data folder>
 * <ledger> <URL for DynamoDB> <URL for SQS>`. The stack has its own emulators, but its functions call them by these URLs. Its rules fire
 * when the parent process says so, so that ticks can be doubled and left out.
 */
import { startEmbeddedStack } from "../local/embedded-stack.ts";
import { LEDGER_VARIABLE } from "./run-job.ts";

/** The message to the parent when the stack is up. */
export type StackUp = { readonly url: string; readonly dynamodb: string; readonly sqs: string };
/** The message of the parent that fires the rules. */
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
