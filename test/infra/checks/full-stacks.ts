import { Duration } from "aws-cdk-lib";
import { Annotations, Match } from "aws-cdk-lib/assertions";
import { Code } from "aws-cdk-lib/aws-lambda";
import { expect } from "vitest";
import { BundledFunction } from "../../../infra/bundling/bundled-function.ts";
import type { TopicProps } from "../../../infra/props.ts";
import { limitFaults } from "../../models/limits.ts";
import type { StackTemplate } from "../resources.ts";
import { shopWith, someFunction, templateOf } from "../shop-stack.ts";

const CODE = Code.fromInline("exports.handler = async () => {}");
export const PULL: TopicProps = { consumer: "pull" };

export type Shape = {
  /** How many topics with handlers there are, and how many pull topics. */
  readonly handled: number;
  readonly pulled: number;
  /** The length of the topics' names. */
  readonly length: number;
  /** Makes other names. */
  readonly seed: number;
  readonly producers?: number;
};

/** Names that are all different, and hard to compress. */
function namesOf(kind: string, count: number, { length, seed }: Shape): string[] {
  const letters = "abcdefghijklmnopqrstuvwxyz0123456789-";
  return Array.from({ length: count }, (_, i) => {
    let state = (seed * 1009 + i * 31 + kind.charCodeAt(0)) >>> 0;
    const next = (): string => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return letters[Math.floor((state / 2 ** 32) * letters.length)] ?? "a";
    };
    const start = Array.from({ length: Math.max(length - 3, 0) }, next).join("");
    return `${start}${kind[0]}${i.toString(36).padStart(2, "0")}`;
  });
}

export type Synth = {
  readonly template?: StackTemplate;
  readonly warnings: readonly string[];
  readonly fault?: string;
};

/** Handlers have the resources of `addHandler`, and are not bundled. */
export function synth(shape: Shape): Synth {
  const handled = namesOf("handled", shape.handled, shape);
  const pulled = namesOf("pulled", shape.pulled, shape);
  const topics = Object.fromEntries([
    ...handled.map((name) => [name, {}] as const),
    ...pulled.map((name) => [name, PULL] as const),
  ]);
  const { stack, queue } = shopWith({ topics });
  const shared = { code: CODE, timeout: Duration.seconds(60), memoryMiB: 512, removable: false };
  for (const name of handled)
    queue.addConsumer(name, new BundledFunction(queue, `Handler-${name}`, shared).fn);
  for (let i = 0; i < (shape.producers ?? 0); i++) queue.grantEnqueue(someFunction(stack, `Producer${i}`));
  try {
    const template = templateOf(stack);
    const found = Annotations.fromStack(stack).findWarning("*", Match.stringLikeRegexp("more topics"));
    return { template, warnings: found.map(({ entry }) => String(entry.data)) };
  } catch (error) {
    return { fault: String(error), warnings: [] };
  }
}

export type Promised = { readonly handled: number; readonly pulled: number };

export function promisedBy(warning = ""): Promised {
  const [, handled, pulled] =
    /at least (\d+) more topics with handlers fit, or (\d+) pull topics/.exec(warning) ?? [];
  return { handled: Number(handled), pulled: Number(pulled) };
}

/** The resources and the bytes of the fullest environment that a warning names. */
export function sizesIn(warning = ""): { resources: number; bytes: number } {
  const [, resources, bytes] = /has (\d+) resources.* has (\d+) bytes/.exec(warning) ?? [];
  return { resources: Number(resources), bytes: Number(bytes) };
}

/** Checks that the promised topics of a kind fit, and that not many more do. */
export function expectKept(shape: Shape, promised: Promised, kind: keyof Promised): void {
  const more = (count: number) => synth({ ...shape, [kind]: shape[kind] + count });
  const kept = more(promised[kind]);
  expect({ ...shape, kind, fault: kept.fault }).toEqual({ ...shape, kind, fault: undefined });
  expect(limitFaults(JSON.stringify(kept.template))).toEqual([]);
  const slack = kind === "handled" ? 2 : 4;
  const beyond = more(promised[kind] + slack);
  expect(beyond.fault ?? "fits").toMatch(/greater than allowed maximum of 500|Lambda allows 4096/);
}
