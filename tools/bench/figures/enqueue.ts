import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { directOn } from "../../../src/client/direct-client.ts";
import type { Figure } from "../figure.ts";
import { httpClient } from "../http-client.ts";
import { BODY, FAR, homesOf, newJobs } from "../jobs.ts";
import { type Load, load } from "../load.ts";
import { attributesOf } from "../plain-table.ts";
import type { Rig } from "../rig.ts";
import { alternate, medianRatio, type Rounds } from "../rounds.ts";
import { median, percentile } from "../statistics.ts";
import { atLeast, inMs, perSecond, type Row } from "../table.ts";

const COUNT = 2000;
const CALLERS = 8;
/** Calls with which each process is warmed up. The API may run in as many processes as there are callers. */
const WARM = 500;
const TOPIC = "reminders";
const LEAST_OVER_HTTP = 0.6;
const LEAST_DIRECT = 0.9;

/** The ceiling is one conditional put for each job, the least that filing a job needs. */
export const enqueue: Figure = {
  name: "enqueue",
  what: `single jobs over HTTP and through the direct client, ${CALLERS} callers`,
  async measure(rig) {
    const post = httpClient(rig.stack.url, CALLERS);
    const client = directOn(rig.ctx, console);
    const count = rig.count(COUNT);
    const overHttp = () =>
      load(count, CALLERS, () => post("/jobs", { topic: TOPIC, delay: "1d", body: BODY }));
    const direct = () => load(count, CALLERS, () => client.enqueue(TOPIC, BODY, { delay: "1d" }));
    const plain = () => plainPuts(rig, count);

    await load(rig.count(WARM * CALLERS), CALLERS, () =>
      post("/jobs", { topic: TOPIC, delay: "1d", body: BODY }),
    );
    await load(rig.count(WARM), CALLERS, () => client.enqueue(TOPIC, BODY, { delay: "1d" }));
    await plainPuts(rig, rig.count(WARM));
    const http = await alternate(rig.rounds, overHttp, plain);
    const inside = await alternate(rig.rounds, direct, plain);
    return [
      ...rows("enqueue over HTTP", http, LEAST_OVER_HTTP),
      ...rows("enqueue through the direct client", inside, LEAST_DIRECT),
    ];
  },
};

async function plainPuts({ ctx, plain, stack }: Rig, count: number): Promise<Load> {
  const items = attributesOf(
    await homesOf(
      ctx,
      newJobs(count, TOPIC, () => Date.now() + FAR),
    ),
  );
  return load(count, CALLERS, (index) =>
    plain.dynamo.send(
      new PutItemCommand({
        TableName: stack.tableName,
        Item: items[index],
        ConditionExpression: "attribute_not_exists(pk)",
      }),
    ),
  );
}

function rows(figure: string, { ours, ceiling }: Rounds<Load>, least: number): Row[] {
  const rates = (loads: readonly Load[]) => loads.map((one) => one.perSecond);
  const latency = (loads: readonly Load[], share: number) =>
    percentile(
      loads.flatMap((one) => one.latencies),
      share,
    );
  const latencies = [0.5, 0.99].map((share): Row => {
    const [own, plain] = [latency(ours, share), latency(ceiling, share)];
    return {
      figure: `${figure}: p${share * 100}`,
      ours: inMs(own),
      ceiling: inMs(plain),
      ratio: plain / own,
    };
  });
  const ratio = medianRatio(rates(ours), rates(ceiling));
  return [
    {
      figure,
      ours: perSecond(median(rates(ours))),
      ceiling: perSecond(median(rates(ceiling))),
      ratio,
      aim: atLeast(ratio, least),
    },
    ...latencies,
  ];
}
