import type { Context as LambdaContext } from "aws-lambda";
import type { Context } from "../../src/protocol/ports.ts";
import type { Policy } from "../../src/settings/policy.ts";
import type { Machine } from "./machine.ts";
import type { World } from "./world.ts";

export type LambdaHandler<E, R> = (event: E, context: LambdaContext) => Promise<R>;

/** How an invocation ended. If it crashed or reached its timeout, nothing else is known. */
export type Invoked<R> = { returned: R } | { failed: unknown } | { crashed: true };

/** A Lambda function. An environment runs one invocation at a time, serves until a deployment, and is killed at the timeout. `chain`: as in `Machine`. */
export type SimulatedLambda<E, R> = (event: E, chain?: number) => Promise<Invoked<R>>;

/** `timeout`: ms. `build`: makes the handler, once in each environment, as a function's module does. */
export function lambdaOf<E, R>(
  world: World,
  name: string,
  timeout: number,
  build: (ctx: Context, machine: Machine) => LambdaHandler<E, R>,
): SimulatedLambda<E, R> {
  const idle: Environment<E, R>[] = [];
  let started = 0;
  const fresh = (): Environment<E, R> => {
    const { machine, ctx } = world.start(`${name}-${++started}`);
    return { machine, policy: world.policy, handler: build(ctx, machine) };
  };
  return (event, chain = 0) => {
    if (world.lambda.isThrottled(name)) {
      world.lambda.ended(name, "throttled");
      return Promise.resolve({ crashed: true });
    }
    const warm = idle.findIndex(({ machine, policy }) => machine.alive() && policy === world.policy);
    const [environment = fresh()] = warm === -1 ? [] : idle.splice(warm, 1);
    environment.machine.chain = chain + 1;
    return invoke(world, environment, event, {
      timeout,
      served: () => void idle.push(environment),
      ended: (how) =>
        world.lambda.ended(name, "returned" in how ? "returned" : "failed" in how ? "failed" : "crashed"),
    });
  };
}

type Environment<E, R> = { machine: Machine; policy: Policy; handler: LambdaHandler<E, R> };

type Invocation<R> = { timeout: number; served: () => void; ended: (how: Invoked<R>) => void };

function invoke<E, R>(
  { timeline }: World,
  { machine, handler }: Environment<E, R>,
  event: E,
  { timeout, served, ended }: Invocation<R>,
): Promise<Invoked<R>> {
  const deadline = timeline.now() + timeout;
  return new Promise((resolve) => {
    let over = false;
    const end = (how: Invoked<R>): void => {
      over = true;
      ended(how);
      resolve(how);
    };
    machine.onDeath(() => over || end({ crashed: true }));
    timeline.at(deadline, () => over || machine.kill());
    const context = { getRemainingTimeInMillis: () => deadline - timeline.now() } as LambdaContext;
    const settled = (how: Invoked<R>): void => {
      if (!machine.alive()) return;
      served();
      end(how);
    };
    handler(event, context).then(
      (returned) => settled({ returned }),
      (failed: unknown) => settled({ failed }),
    );
  });
}
