import { App, Stack, Tags } from "aws-cdk-lib";
import { Tracing } from "aws-cdk-lib/aws-lambda";
import { describe, expect, it } from "vitest";
import { DelayQueue } from "../../../infra/delay-queue.ts";
import type { DelayQueueProps } from "../../../infra/props.ts";
import { someFunction, templateOf } from "../shop-stack.ts";

type Use = {
  readonly props?: Partial<DelayQueueProps>;
  readonly isTraced?: boolean;
  readonly tags?: "all" | "without mappings";
};

/** The errors of synth, without the path of the queue. */
function errorsIn(region: string | undefined, { props, isTraced = false, tags }: Use): string[] {
  const app = new App();
  const stack = new Stack(
    app,
    "Shop",
    region === undefined ? {} : { env: { region, account: "123456789012" } },
  );
  const queue = new DelayQueue(stack, "Jobs", { topics: { mail: {} }, ...props });
  const file = "examples/order-timeout/close-order.ts";
  if (isTraced) queue.addHandler("mail", file, { tracing: Tracing.ACTIVE });
  else queue.addConsumer("mail", someFunction(stack, "Mail"));
  const excludeResourceTypes = tags === "without mappings" ? ["AWS::Lambda::EventSourceMapping"] : [];
  if (tags !== undefined) Tags.of(app).add("team", "shop", { excludeResourceTypes });
  try {
    templateOf(stack);
    return [];
  } catch (error) {
    return String(error).match(/in \S+ Lambda has .*/g) ?? [String(error)];
  }
}

const POLLERS: Use = { props: { topics: { mail: { pollers: { min: 2, max: 4 } } } } };
const TRACED: Use = { props: { tracing: true } };

describe("what Lambda lacks in a region fails at synth, in one sentence", () => {
  it.each([
    [
      "cn-north-1",
      POLLERS,
      "has no provisioned mode of event sources: leave out pollers; used by Shop/Mail/Topic-mail/Resource",
    ],
    [
      "cn-northwest-1",
      TRACED,
      "has no tracing by AWS X-Ray: leave out tracing; used by Shop/Jobs/Tick/Sweeper/Function/Resource",
    ],
    [
      "cn-north-1",
      { isTraced: true },
      "has no tracing by AWS X-Ray: leave out tracing; used by Shop/Jobs/Handler-mail/Function/Resource",
    ],
    [
      "us-gov-west-1",
      { tags: "all" },
      /^has no tags of event source mappings: .*excludeResourceTypes.*; used by Shop\/Mail\/Topic-mail\/Resource$/,
    ],
  ] satisfies [string, Use, string | RegExp][])("in %s", (region, use, text) => {
    const [error = "", ...others] = errorsIn(region, use);
    expect(others).toEqual([]);
    expect(error.startsWith(`in ${region} Lambda `)).toBe(true);
    expect(error.replace(`in ${region} Lambda `, "")).toEqual(
      typeof text === "string" ? text : expect.stringMatching(text),
    );
  });

  it("and nothing that a region has, or of which nothing is known", () => {
    for (const region of ["eu-central-1", undefined])
      expect(errorsIn(region, { props: { ...POLLERS.props, tracing: true }, tags: "all" })).toEqual([]);
    expect(errorsIn("us-gov-west-1", { props: { ...POLLERS.props, tracing: true } })).toEqual([]);
    expect(errorsIn("cn-north-1", { tags: "without mappings" })).toEqual([]);
  });
});
