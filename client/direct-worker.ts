import { createContext } from "../environment/context.ts";
import type { Service } from "../http/route.ts";
import { pulledRoutes } from "../http/routes/pulled.ts";
import { receiveRoute } from "../http/routes/receive.ts";
import type { Context } from "../protocol/ports.ts";
import type { Client, TopicBodies } from "./client.ts";
import { clientInside } from "./client-inside.ts";

/** The calls that `queue.grantPull(topic, worker)` allows to code inside AWS, for the jobs of that topic. */
export type DirectWorker<Topics = TopicBodies> = Pick<
  Client<Topics>,
  "receive" | "finish" | "extend" | "retry" | "bury"
>;

const routes = [receiveRoute, ...pulledRoutes];

/**
 * Creates a worker for code inside AWS. It receives the jobs of pull topics from SQS and claims them in DynamoDB, with the role of the
 * code, and needs no HTTP API. So nobody pays for a Lambda function while the worker waits. Its rules and answers are those of the API.
 *
 * If you abort a `receive`, it throws at once. Its poll of SQS goes on until its `waitSeconds` are over, and jobs that still come are given
 * back to other workers, without a failed attempt. So let the process end by itself, and do not call `process.exit`.
 *
 * The code needs the permissions that `queue.grantPull(topic, worker)` gives to it, and the queue's environment variables. A
 * Lambda function gets the variables from `grantPull`, any other program from `queue.environment`. The worker writes its errors
 * and metrics to the log of the code. Throws if one of these environment variables is missing. A call throws `forbidden` if a
 * permission is missing, and `unavailable` if AWS did not answer in time.
 *
 * @example
 * const worker = directWorker<{ thumbnail: { image: string } }>();
 * for (const { receipt, body } of await worker.receive("thumbnail", { max: 10, waitSeconds: 20 })) {
 *   await shrink(body.image);
 *   await worker.finish("thumbnail", receipt);
 * }
 */
export function directWorker<Topics = TopicBodies>(): DirectWorker<Topics> {
  const ctx = createContext(process.env, { polls: true });
  return directWorkerOn(ctx, ctx.telemetry.logger, ctx.telemetry.flush);
}

/** Creates a direct worker over a given context. `done` is called after each request. */
export function directWorkerOn<Topics = TopicBodies>(
  ctx: Context,
  log: Service["log"],
  done?: () => void,
): DirectWorker<Topics> {
  return clientInside(ctx, log, routes, done);
}
